// Executes a workgroup of a SPIR-V module, all invocations side by side: each instruction executes for all invocations that have reached it
// before the next one begins. Of diverged invocations those furthest behind continue, so that they reconverge where the module's control
// flow does.
//
// arithmetic.cpp has the instructions that invocations execute independently, accesses.cpp loads, stores, atomics and pointers,
// subgroups.cpp collective instructions, matrices.cpp cooperative matrices.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "interpreter/counts.hpp"
#include "interpreter/memory.hpp"
#include "interpreter/module.hpp"

namespace heed::interpreter {

// A storage buffer, as bound.
struct Binding {
  Memory* memory = nullptr;
  uint64_t offset = 0, range = 0;
  bool written = false;  // whether the dispatch declares that it writes it
};

// Rule violations of kernels, once for each instruction.
struct Report {
  std::vector<std::string> wrongs;
  std::set<std::pair<const void*, const char*>> told;
  std::string where;         // the kernel
  Counts* counts = nullptr;  // filled if not null
  uint64_t rounds = 0;       // iterations of all loops, of the invocation with the most
};

// The intervals of memory.hpp, over all dispatches.
struct Clock {
  uint32_t now = 2, dispatch = 2;
};

// Some invocations, in order.
struct Lanes {
  std::vector<uint16_t> list;
  bool all = false;  // number of invocations in the workgroup
};

class Workgroup {
 public:
  // All arguments must outlive this object. Throws Unknown, and Stopped if a kernel does not end.
  Workgroup(const Module& module, std::span<const Binding> bindings, std::span<const std::byte> push,
            const std::array<uint32_t, 3>& groups, Clock* clock, Report* report);
  void run(const std::array<uint32_t, 3>& id);

 private:
  using Slot = uint32_t*;  // by invocation

  // workgroup.cpp
  void call(const Function& function, Lanes start);
  void do_call(const Instruction& i, const Lanes& at);
  void enter(const Block& block, const Lanes& at);
  void count_rounds(const Block& block, uint32_t index, const Lanes& at);
  uint64_t most_rounds();
  const uint32_t* common_target(const Instruction& last, const Lanes& at);
  template <class Go>
  void part(const Function& function, const Instruction& last, const Lanes& at, const Go& go);
  void execute(const Instruction& i, const Lanes& at);
  void perform(const Instruction& i, const Lanes& at);
  void set_built_ins(const std::array<uint32_t, 3>& id);
  void wrong(const Instruction& i, const char* what, uint32_t invocation);
  // The value that all invocations must have in common; reports if they differ.
  uint32_t uniform(const Instruction& i, uint32_t value, const Lanes& at, uint32_t slot = 0);

  // In arithmetic.cpp. Returns false for other instructions.
  bool do_arithmetic(const Instruction& i, const Lanes& at);
  bool do_floats(const Instruction& i, const Lanes& at);
  bool do_conversion(const Instruction& i, const Lanes& at);
  bool do_composite(const Instruction& i, const Lanes& at);
  bool do_matrix(const Instruction& i, const Lanes& at);
  void do_glsl(const Instruction& i, const Lanes& at);
  void do_integer_dot(const Instruction& i, const Lanes& at);
  bool do_regrouped(const Instruction& i, const Lanes& at);
  struct Factors {
    float first;
    std::optional<float> others;
  };
  static Factors multiplied(Factors x, Factors y);
  Factors factors_of(uint32_t value, uint32_t s, uint32_t l);
  float regrouped_product(uint32_t a, uint32_t b, uint32_t s, uint32_t l);
  float regrouped_sum(const Module::Parts& sum, uint32_t s, uint32_t l);
  float value_of(uint32_t value, uint32_t s, uint32_t l);
  void convert_bits(const Instruction& i, const Lanes& at);
  uint32_t slot_offset(uint32_t type, std::span<const uint32_t> indices) const;

  // In accesses.cpp.
  bool do_access(const Instruction& i, const Lanes& at);
  void make_pointer(const Instruction& i, const Lanes& at);
  void load(const Instruction& i, const Lanes& at);
  void store(const Instruction& i, const Lanes& at);
  void do_atomic(const Instruction& i, const Lanes& at);
  bool is_in_memory(Storage storage) const;
  struct Place {
    Memory* memory = nullptr;  // null: push constants
    uint64_t offset = 0, range = 0;
    bool shared = false, writable = false;
  };
  Place place_of(uint32_t pointer);
  uint32_t read(const Instruction& i, const Place& place, uint32_t offset, uint32_t width, uint32_t invocation);
  void write(const Instruction& i, const Place& place, uint32_t offset, uint32_t width, uint32_t invocation,
             uint32_t value);
  bool is_within(const Instruction& i, const Place& place, uint32_t offset, uint32_t width, uint32_t invocation);
  Access access(const Place& place, uint32_t invocation, bool atomic) const;

  // In counts.cpp.
  void count(const Place& place, const uint32_t* offsets, uint32_t bytes, const Lanes& at);
  void count_matrix(const Place& place, uint32_t base, uint32_t stride, uint32_t lines, uint32_t bytes);
  void count_turns(std::span<const uint64_t> addresses, uint32_t bytes);
  void count_segments(const Place& place, std::span<const uint64_t> addresses, uint32_t bytes);
  void count_arithmetic(const Instruction& i, const Lanes& at);
  void count_issues(uint64_t each, const Lanes& at);
  void count_integers(uint64_t each, uint32_t value, const Lanes& at);
  void count_pointer(const Instruction& i, const Lanes& at);
  uint64_t subgroups_at(const Lanes& at) const;
  bool is_scalar(uint32_t value, const Lanes& at);

  // In subgroups.cpp.
  bool do_group(const Instruction& i, const Lanes& at);
  void do_barrier(const Instruction& i, const Lanes& at);
  void do_shuffle(const Instruction& i, const Lanes& at);
  template <class Combine>
  bool reduce(const Instruction& i, const Lanes& at, const Combine& combine, size_t operand = 2);

  // In matrices.cpp.
  struct Shape {
    uint32_t rows, columns, sharers, width;
    bool bfloat;
    uint32_t elements() const { return rows * columns; }
    // The invocation that holds an element. Drivers choose this freely, so it is deliberately not the obvious one.
    uint32_t holder(uint32_t index) const { return sharers - 1 - index % sharers; }
  };
  Shape shape_of(uint32_t type) const;
  uint32_t number_width(uint32_t type) const;  // words of a value, also of a matrix
  uint32_t& element(uint32_t value, const Shape& shape, uint32_t first, uint32_t index);
  // The first invocations of the groups that share a matrix; reports if some invocations are inactive.
  std::vector<uint32_t> sharers(const Instruction& i, const Shape& shape, const Lanes& at);
  bool do_cooperative(const Instruction& i, const Lanes& at);
  struct MatrixAccess {
    uint32_t type, pointer, layout, stride;  // ids
  };
  template <class F>
  void walk_matrix(const Instruction& i, const Lanes& at, const MatrixAccess& access, const F& f);
  void load_matrix(const Instruction& i, const Lanes& at);
  void store_matrix(const Instruction& i, const Lanes& at);
  void multiply(const Instruction& i, const Lanes& at);
  void multiply_whole(const Instruction& i, const Lanes& at);

  Slot slot(uint32_t value, uint32_t index = 0) { return values_[value].data() + size_t{index} * n_; }
  template <class F>
  void each(const Lanes& at, const F& f) const {
    if (at.all)
      for (uint32_t l = 0; l < n_; ++l) f(l);
    else
      for (const uint16_t l : at.list) f(l);
  }
  template <class F>
  void unary(const Instruction& i, const Lanes& at, const F& f);
  template <class F>
  void binary(const Instruction& i, const Lanes& at, const F& f);
  template <class F>
  void float_unary(const Instruction& i, const Lanes& at, uint32_t a, const F& f);
  template <class F>
  void float_binary(const Instruction& i, const Lanes& at, uint32_t a, uint32_t b, const F& f);
  template <class F>
  void compare(const Instruction& i, const Lanes& at, const F& f);

  const Module& module_;
  std::span<const Binding> bindings_;
  std::span<const std::byte> push_;
  std::array<uint32_t, 3> groups_;  // of the dispatch
  Clock* clock_;
  Report* report_;
  uint32_t n_;                                 // invocations
  std::vector<std::vector<uint32_t>> values_;  // by id: slots of all invocations; for a variable its contents
  std::vector<const Variable*> pointees_;      // by id of a pointer
  std::vector<Variable> local_;                // of functions
  std::vector<uint32_t> zero_;
  std::map<uint32_t, uint32_t> returns_;  // by function: the id of its return value
  std::vector<uint32_t> from_;            // by invocation: the previous block
  Memory shared_;
  std::map<uint32_t, uint32_t> shared_at_;  // by variable
  std::vector<uint16_t> phases_;            // of the interval, by subgroup
  uint32_t begun_ = 0;                      // the first interval
  uint32_t shared_now_ = 0, buffers_now_ = 0;
  std::vector<uint32_t> taken_;  // temporary values of phis
  uint64_t steps_ = 0;
  struct Loop {
    std::vector<uint32_t> now, all;         // loop iterations by invocation: since it entered the loop, and in total
    uint32_t least = UINT32_MAX, most = 0;  // iterations of one execution of the loop, over all invocations
  };
  std::map<const Block*, Loop> loops_;
  std::unordered_set<uint64_t> touched_[kSegments.size()];  // segments of buffers, by address
  std::array<uint32_t, 3> id_{};
};

// Thrown for a kernel that does not end.
struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }
// The value of a floating-point number of 16 or 32 bits.
float float_of(uint32_t bits, uint32_t width);
uint32_t bits_of(float value, uint32_t width);

}  // namespace heed::interpreter
