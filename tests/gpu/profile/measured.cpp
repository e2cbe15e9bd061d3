#include "gpu/profile/measured.hpp"

#include <cinttypes>
#include <cstdio>

namespace heed::gpu_tests {
namespace {

using interpreter::Counts;

struct Column {
  const char* name;
  uint64_t Counts::* member;
};
constexpr Column kColumns[] = {{"workgroups", &Counts::workgroups},
                               {"subgroups", &Counts::subgroups},
                               {"multiply_adds", &Counts::multiply_adds},
                               {"byte_dots", &Counts::byte_dots},
                               {"floats", &Counts::floats},
                               {"specials", &Counts::specials},
                               {"integers", &Counts::integers},
                               {"exchanges", &Counts::exchanges},
                               {"matrix_multiply_adds", &Counts::matrix_multiply_adds},
                               {"byte_matrix_multiply_adds", &Counts::byte_matrix_multiply_adds},
                               {"matrix_operations", &Counts::matrix_operations},
                               {"scalars", &Counts::scalars},
                               {"issues", &Counts::issues},
                               {"multiply_issues", &Counts::multiply_issues},
                               {"lanes", &Counts::lanes},
                               {"group_barriers", &Counts::barriers},
                               {"indexed", &Counts::indexed},
                               {"requests", &Counts::requests},
                               {"bytes", &Counts::bytes},
                               {"atomics", &Counts::atomics},
                               {"shared_requests", &Counts::shared_requests},
                               {"shared_bytes", &Counts::shared_bytes},
                               {"shared_turns", &Counts::shared_turns},
                               {"fewest_turns", &Counts::fewest_turns}};

}  // namespace

void print_head() {
  std::printf(
      "target,engine,work,work_multiply_adds,work_bytes,barriers,kernel,constants,groups,invocations,subgroup,"
      "dispatches,sample,"
      "bound_bytes,registers,spills,scratch,shared,occupancy,instructions,cycles,loop_instructions,loop_multiply_adds,"
      "loop_matrix");
  for (const Column& column : kColumns) std::printf(",%s", column.name);
  for (const char* name : {"segments", "touched"})
    for (const uint32_t size : interpreter::kSegments) std::printf(",%s_%u", name, size);
  std::printf(",lacking\n");
}

void print(const Profile& p) {
  for (const Measured& m : p.kernels) {
    std::printf("%s,%s,%s,%.0f,%.0f,%" PRIu64 ",%s,%s,%u %u %u,%u,%u,%" PRIu64 ",%" PRIu64
                ",%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%d,%d,%d",
                p.target.c_str(), p.engine.c_str(), p.work.c_str(), p.multiply_adds, p.fewest_bytes, p.barriers,
                m.kernel.c_str(), m.constants.c_str(), m.groups[0], m.groups[1], m.groups[2], m.invocations, m.subgroup,
                m.dispatches, m.ran, m.bound_bytes, m.figures.registers, m.figures.spills, m.figures.scratch,
                m.figures.shared, m.figures.occupancy, m.figures.instructions, m.figures.cycles, m.figures.hottest.all,
                m.figures.hottest.multiply_adds, m.figures.hottest.matrix);
    for (const Column& column : kColumns) std::printf(",%" PRIu64, m.counts.*column.member);
    for (const auto* list : {&m.counts.segments, &m.counts.touched})
      for (const uint64_t count : *list) std::printf(",%" PRIu64, count);
    std::printf(",%s\n", m.lacking.c_str());
  }
  std::fflush(stdout);
}

}  // namespace heed::gpu_tests
