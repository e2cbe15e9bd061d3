#include "interpreter/machines.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/environment.hpp"
#include "ops/random.hpp"

namespace heed::interpreter {
namespace {

// A machine with random capabilities, any of which a driver may report.
Machine drawn_machine(int64_t number) {
  ops::Random random(ops::random_seed() * 1000 + static_cast<uint64_t>(number));
  const auto one_of = [&](std::initializer_list<int64_t> list) { return static_cast<uint32_t>(random.pick(list)); };
  Machine machine;
  machine.word = "drawn:" + std::to_string(number);
  machine.host_offset = one_of({0, 0, 4, 16, 64});
  machine.regroups = number % 2 == 1;
  Capabilities& device = machine.capabilities;
  device.max_invocations = one_of({128, 256, 384, 512, 1024});
  device.max_workgroup_size = {device.max_invocations, one_of({128, device.max_invocations}), 64};
  device.shared_bytes = one_of({16384, 32768, 49152, 65536});
  device.storage_alignment = one_of({4, 16, 64, 256});
  device.cores = one_of({1, 8, 32, 132});
  device.subgroup_size = one_of({4, 8, 16, 32, 64, 128});
  machine.subgroup = random.coin() ? device.subgroup_size : one_of({4, 8, 16, 32, 64, 128});
  device.subgroup_arithmetic = random.coin(), device.subgroup_ballot = random.coin(),
  device.subgroup_shuffle = random.coin();
  device.slow_shuffle = random.one_in(6);
  device.registers = one_of({128, 192, kManyRegisters, kRegistersInMemory});
  device.integer_dots = number % 4 < 2;
  device.storage_16bit = !random.one_in(4);
  if (!device.storage_16bit || random.coin()) return machine;
  device.matrix = {one_of({8, 16}), one_of({8, 16}), one_of({8, 16})};
  device.matrix_subgroup = one_of({8, 16, 32, 64});
  device.matrix_always = random.coin();
  device.subgroup_shuffle = !random.one_in(6);
  if (random.coin()) device.bfloat_matrix = {one_of({8, 16}), one_of({8, 16}), one_of({8, 16})};
  if (random.coin()) device.byte_matrix = {one_of({8, 16}), one_of({8, 16}), one_of({8, 16, 32})};
  return machine;
}

}  // namespace

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> list;
    const int64_t drawn = test::number_from("HEED_DRAWN_MACHINES", 6);
    Capabilities floor;  // a phone: no subgroup operations, no 16-bit storage
    floor.integer_dots = true;
    list.push_back({"spirv:floor", floor, 16, 4});

    Capabilities large;
    large.subgroup_arithmetic = large.subgroup_ballot = large.subgroup_shuffle = true;
    large.storage_16bit = large.integer_dots = true;
    large.max_invocations = 1024;
    large.max_workgroup_size = {1024, 1024, 64};
    large.shared_bytes = 65536;
    large.storage_alignment = 4;
    large.matrix = large.bfloat_matrix = {16, 16, 16};

    Capabilities intel = large;  // XMX
    intel.subgroup_size = 32;
    intel.matrix.m = intel.bfloat_matrix.m = 8;
    intel.byte_matrix = {8, 16, 32};
    intel.matrix_subgroup = 16;
    intel.registers = 128;
    list.push_back({"spirv:intel", intel, 8, 64});

    Capabilities amd = large;  // WMMA
    amd.max_workgroup_size[2] = 1024;
    amd.subgroup_size = amd.matrix_subgroup = 64;
    amd.matrix_always = true;
    list.push_back({"spirv:amd", amd, 64, 0});

    Capabilities nvidia = large;
    nvidia.shared_bytes = 49152;
    nvidia.storage_alignment = 16;
    nvidia.subgroup_size = nvidia.matrix_subgroup = 32;
    nvidia.cores = 132;
    nvidia.bfloat_matrix.n = 8;
    nvidia.matrix_always = true;
    list.push_back({"spirv:nvidia", nvidia, 32, 0, true});

    for (int64_t number = 0; number < drawn; ++number) list.push_back(drawn_machine(number));
    for (Machine& machine : list) machine.capabilities.irreproducible = nullptr;
    return list;
  }();
  return all;
}

const Machine& machine_of(std::string_view word) {
  const std::vector<Machine>& all = machines();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Machine& machine) { return machine.word == word; });
  if (found == all.end()) throw std::runtime_error("no machine " + std::string(word));
  return *found;
}

}  // namespace heed::interpreter
