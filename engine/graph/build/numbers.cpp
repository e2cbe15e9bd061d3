// The numbers of a graph: extents and positions that runs give, and numbers that runs compute from them.
#include <algorithm>

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;
using detail::GraphData;

namespace detail {

SizeId Build::computed(const SizeRule& rule) {
  if (const std::optional<SizeId> known = data_.sizes.find(rule)) return *known;
  const auto [kind, a, b] = rule;
  const bool divides = kind != SizeRule::Kind::Difference;
  ExtentInfo number;
  number.name = format("(%s %c %s)", size_text(a).c_str(), divides ? '/' : '-', size_text(b).c_str());
  if (divides && least_of(b) < 1) refuse(Status::InvalidArgument, number.name + ": the divisor may be 0");
  if (failed()) return data_.sizes.constant(1);
  number.max = divides ? max_of(a) / least_of(b) : max_of(a) - least_of(b);
  number.least = divides ? least_of(a) / max_of(b) : std::max<int64_t>(least_of(a) - max_of(b), 0);
  const bool is_constant = data_.sizes.is_constant(a) && data_.sizes.is_constant(b);
  if (number.max < number.least || (is_constant && kind == SizeRule::Kind::Quotient)) {
    refuse(Status::InvalidArgument, number.name + (divides ? " is no whole number" : " is negative at every run"));
    return data_.sizes.constant(1);
  }
  if (is_constant) return data_.sizes.constant(number.max);
  number.is_computed = true;
  number.size = data_.sizes.extent(static_cast<uint32_t>(data_.extents.size()), rule);
  data_.extents.push_back(number);
  return number.size;
}

bool Build::keep_from_0(SizeId size) {
  for (const SizeId factor : data_.sizes.factors(size)) {
    if (least_of(factor) >= 1) continue;
    const auto number = std::find_if(data_.extents.begin(), data_.extents.end(), [&](const ExtentInfo& extent) {
      return extent.size == factor && extent.is_computed && extent.max >= 1;
    });
    if (number == data_.extents.end()) return false;
    number->least = 1;
  }
  return least_of(size) >= 1;
}

}  // namespace detail

namespace {

Dim named_number(Build& build, std::string_view name, int64_t least, int64_t max) {
  const Dim otherwise = 1;
  if (!build.is_name(name)) return otherwise;
  GraphData& data = build.data();
  for (const detail::ExtentInfo& known : data.extents) {
    if (known.name != name || known.is_computed) continue;
    if (known.max != max || known.least != least)
      build.fail(Status::InvalidArgument,
                 format("'%s' was declared from %lld with maximum %lld, now from %lld with %lld", known.name.c_str(),
                        static_cast<long long>(known.least), static_cast<long long>(known.max),
                        static_cast<long long>(least), static_cast<long long>(max)));
    return build.dim_of(known.size);
  }
  if (max < 1 || max > INT32_MAX) {
    build.fail(Status::InvalidArgument, format("'%s': maximum %lld is outside 1..2^31-1", std::string(name).c_str(),
                                               static_cast<long long>(max)));
    return otherwise;
  }
  const SizeId size = data.sizes.extent(static_cast<uint32_t>(data.extents.size()));
  data.extents.push_back({std::string(name), max, size, least});
  return build.dim_of(size);
}

// Records a mistake and returns false unless both are constants or numbers of this graph.
bool are_numbers(Build& build, Dim a, Dim b) {
  if (build.failed()) return false;
  return (build.is_number(a) && build.is_number(b)) ||
         build.refuse(Status::InvalidArgument, "an operand is negative, or a number of another graph");
}

Dim combine(Build& build, Dim a, Dim b, SizeRule::Kind kind) {
  const Dim otherwise = 1;
  if (!are_numbers(build, a, b)) return otherwise;
  const SizeId first = build.id_of(a), second = build.id_of(b);
  SizeTable& sizes = build.data().sizes;
  if (const auto known =
          kind == SizeRule::Kind::Difference ? sizes.difference(first, second) : sizes.quotient(first, second))
    return build.dim_of(*known);
  const SizeId result = build.computed({kind, first, second});
  return build.failed() ? otherwise : build.dim_of(result);
}

}  // namespace

Dim Graph::extent(std::string_view name, int64_t max) {
  Build build(*data_, "extent");
  return named_number(build, name, 1, max);
}

Dim Graph::position(std::string_view name, int64_t max) {
  Build build(*data_, "position");
  return named_number(build, name, 0, max);
}

Dim Graph::sum(Dim a, Dim b, int64_t most) {
  Build build(*data_, "sum");
  const Dim otherwise = 1;
  if (!are_numbers(build, a, b)) return otherwise;
  SizeTable& sizes = data_->sizes;
  const SizeId first = build.id_of(a), second = build.id_of(b), total = sizes.add(first, second);
  if (build.least_of(total) > most) {
    build.fail(Status::InvalidArgument, format("%s + %s is asked to be at most %lld", build.size_text(first).c_str(),
                                               build.size_text(second).c_str(), static_cast<long long>(most)));
    return otherwise;
  }
  if (build.max_of(total) <= most) return build.dim_of(total);
  data_->bounds.push_back(
      {total, sizes.constant(most), "elements " + build.size_text(first) + " + " + build.size_text(second)});
  return build.dim_of(sizes.at_most(total, most));
}

Dim Graph::dim_product(Dim a, Dim b) {
  Build build(*data_, "dim_product");
  const Dim otherwise = 1;
  if (!are_numbers(build, a, b)) return otherwise;
  const SizeId first = build.id_of(a), second = build.id_of(b), product = data_->sizes.mul(first, second);
  if (build.max_of(product) < INT64_MAX) return build.dim_of(product);
  build.fail(Status::InvalidArgument, format("%s * %s is more than can be counted", build.size_text(first).c_str(),
                                             build.size_text(second).c_str()));
  return otherwise;
}

Dim Graph::dim_difference(Dim a, Dim b) {
  Build build(*data_, "dim_difference");
  return combine(build, a, b, SizeRule::Kind::Difference);
}

Dim Graph::dim_quotient(Dim a, Dim b) {
  Build build(*data_, "dim_quotient");
  return combine(build, a, b, SizeRule::Kind::Quotient);
}

Dim Graph::dim_floor_quotient(Dim a, Dim b) {
  Build build(*data_, "dim_floor_quotient");
  return combine(build, a, b, SizeRule::Kind::FloorQuotient);
}

}  // namespace heed
