// No work of `heed report` dispatches more than 5 GFLOP at once on any kind of device, so that a slow GPU's watchdog does not end it.
#include "harness/setup.hpp"
#include "kernels/lowered.hpp"
#include "report/works.hpp"

namespace heed::kernel_tests {
namespace {

constexpr double kMostWork = 5e9;

struct ReportMachine {
  const char* name;
  Capabilities device;
};

std::vector<ReportMachine> report_machines() {
  Capabilities floor;
  floor.storage_16bit = true;
  floor.max_storage_range = UINT32_MAX;
  Capabilities gpu = floor;
  gpu.max_invocations = 1024;
  gpu.max_workgroup_size = {1024, 1024, 64};
  gpu.shared_bytes = 49152;
  gpu.subgroup_size = 32;
  gpu.subgroup_arithmetic = gpu.subgroup_ballot = gpu.subgroup_shuffle = true;
  Capabilities units = gpu;
  units.cores = 132;
  units.matrix = units.bfloat_matrix = {16, 16, 16};
  units.matrix_subgroup = 32;
  return {{"floor", floor}, {"gpu", gpu}, {"units", units}};
}

// The most floating-point operations of a dispatch, or bytes if they are more, with all extents at their largest; 0 if the device does not
// support the work.
double largest_dispatch(const program::BenchCase& work, const Capabilities& device) {
  program::BenchGraph bench;
  work.build(bench);
  Lowered lowered(bench.graph, work.training, device);
  double largest = 0;
  KernelList kernels;
  const auto list = std::make_unique<DispatchList>();
  for (const Node& node : lowered.schedule.passes) {
    const Status status = lowered.select(node, &kernels);
    if (status == Status::Unsupported && work.may_be_unsupported) return 0;
    INFO(work.op << " " << work.shape << ": " << lowered.messages.text);
    REQUIRE(status == Status::Ok);
    emit_dispatches(lowered.schedule, node, lowered.device, kernels, lowered.values(), list.get());
    for (uint32_t i = 0; i < list->count; ++i) largest = std::max(largest, list->dispatches[i].work);
  }
  return largest;
}

}  // namespace

TEST_CASE("report: no work dispatches more than 5 GFLOP at once", "[kernels][report]") {
  const std::vector<program::BenchCase>& works = program::report_works();
  CHECK(works.size() == 20);
  for (const ReportMachine& machine : report_machines()) {
    size_t counted = 0;
    for (const program::BenchCase& work : works) {
      INFO(machine.name << " " << work.op << " " << work.shape);
      const double largest = largest_dispatch(work, machine.device);
      CHECK(largest <= kMostWork);
      counted += largest > 0;
    }
    CHECK(counted == works.size());
    // A work that is too large is noticed.
    CHECK(largest_dispatch(program::bench_case("matmul", "linear", {4096, 4096, 4096}), machine.device) > kMostWork);
  }
}

}  // namespace heed::kernel_tests
