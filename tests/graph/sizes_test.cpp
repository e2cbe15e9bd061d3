#include "harness/catch.hpp"

#include "graph/sizes.hpp"

using heed::SizeId;
using heed::SizeTable;

TEST_CASE("sizes know what they are a multiple of") {
  SizeTable sizes;
  const SizeId n = sizes.extent(0), four_n = sizes.mul(sizes.constant(4), n), six = sizes.constant(6);
  CHECK(sizes.is_multiple(four_n, 4));
  CHECK(sizes.is_multiple(sizes.add(four_n, sizes.constant(8)), 4));
  CHECK(sizes.is_multiple(sizes.mul(four_n, n), 4));
  CHECK(sizes.is_multiple(n, 1));
  CHECK_FALSE(sizes.is_multiple(n, 4));
  CHECK_FALSE(sizes.is_multiple(six, 4));
  CHECK_FALSE(sizes.is_multiple(sizes.add(four_n, six), 4));
}

TEST_CASE("sizes: equal expressions have equal ids", "[graph]") {
  SizeTable t;
  const SizeId a = t.extent(0), b = t.extent(1), two = t.constant(2), three = t.constant(3);
  CHECK(t.mul(two, three) == t.constant(6));
  CHECK(t.mul(a, b) == t.mul(b, a));
  CHECK(t.mul(t.mul(a, two), t.mul(b, three)) == t.mul(t.constant(6), t.mul(b, a)));
  CHECK(t.mul(t.mul(a, b), a) == t.mul(a, t.mul(a, b)));
  CHECK(t.add(t.add(a, two), three) == t.add(t.constant(5), a));
  CHECK(t.mul(a, t.constant(1)) == a);
  CHECK(t.add(a, t.constant(0)) == a);
  CHECK(t.mul(a, t.constant(0)) == t.constant(0));
  CHECK(t.mul(a, a) != t.add(a, a));
}

TEST_CASE("sizes: what undoes a difference or a quotient gives the size again", "[graph]") {
  SizeTable t;
  const SizeId a = t.extent(0), b = t.extent(1), one = t.constant(1), two = t.constant(2), six = t.constant(6);
  using Kind = heed::SizeRule::Kind;
  const SizeId less = t.extent(2, {Kind::Difference, a, one}), apart = t.extent(3, {Kind::Difference, a, b}),
               half = t.extent(4, {Kind::Quotient, t.mul(a, b), two}),
               share = t.extent(5, {Kind::Quotient, a, t.mul(two, b)});
  CHECK(t.add(less, one) == a);
  CHECK(t.add(two, less) == t.add(a, one));
  CHECK(t.add(apart, t.add(b, two)) == t.add(a, two));
  CHECK(t.add(apart, less) != a);
  CHECK(t.mul(half, six) == t.mul(t.constant(3), t.mul(a, b)));
  CHECK(t.mul(half, t.constant(3)) != t.mul(a, b));
  CHECK(t.mul(t.mul(share, two), b) == a);
  CHECK(t.mul(share, b) != a);
  CHECK(t.difference(t.add(a, six), t.add(a, two)) == t.constant(4));
  CHECK(t.difference(t.add(a, b), b) == a);
  CHECK_FALSE(t.difference(a, b));
  CHECK_FALSE(t.difference(a, t.add(a, one)));
  CHECK(t.depends_on(t.mul(share, six), 1));
  CHECK_FALSE(t.depends_on(less, 1));
  const SizeId floor = t.extent(6, {Kind::FloorQuotient, less, two});
  CHECK(t.mul(floor, two) != less);
  CHECK(t.depends_on(floor, 0));
}

TEST_CASE("sizes: values follow the extents and overflow is told", "[graph]") {
  SizeTable t;
  const SizeId a = t.extent(0), b = t.extent(1);
  const SizeId volume = t.mul(t.mul(a, b), t.constant(64)), joined = t.add(a, t.add(b, t.constant(7)));
  std::vector<int64_t> values(t.count());
  const int64_t extents[] = {3, 5};
  REQUIRE(t.evaluate(extents, values));
  CHECK(values[static_cast<size_t>(volume)] == 960);
  CHECK(values[static_cast<size_t>(joined)] == 15);
  CHECK(t.evaluate(volume, extents) == 960);

  const int64_t huge[] = {int64_t{1} << 31, int64_t{1} << 31};
  CHECK_FALSE(t.evaluate(huge, values));
  CHECK(values[static_cast<size_t>(volume)] == INT64_MAX);
  CHECK(t.evaluate(volume, huge) == INT64_MAX);
}
