// A SPIR-V module, specialized and decoded for execution.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "interpreter/opcodes.hpp"

namespace heed::interpreter {

// Thrown if the interpreter cannot continue, because of its own limits or a defect of the module.
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Type {
  enum class Kind : uint8_t {
    Void,
    Bool,
    Int,
    Float,
    Vector,
    Matrix,
    Array,
    Struct,
    Pointer,
    Function,
    CooperativeMatrix
  };
  Kind kind = Kind::Void;
  uint32_t width = 32;            // bits of a scalar
  bool bfloat = false;            // a 16-bit float is bf16
  uint32_t element = 0;           // the element type of a vector, matrix or array, or the pointee
  uint32_t count = 0;             // number of elements; 0: as many as the buffer has
  uint32_t stride = 0;            // stride of elements in bytes
  Storage storage{};              // storage class of a pointer
  std::vector<uint32_t> members;  // types of members
  std::vector<uint32_t> offsets;  // offsets of members in bytes
  // Words of a value in each invocation. A cooperative matrix is spread over invocations; see matrices.cpp.
  uint32_t slots = 0;
  // For cooperative matrices.
  uint32_t rows = 0, columns = 0;
  uint32_t sharers = 0;  // invocations that share it

  bool scalar() const { return kind <= Kind::Float && kind != Kind::Void; }
};

struct Instruction {
  Op op{};
  uint32_t type = 0, result = 0;
  std::span<const uint32_t> operands;  // operands after type and result
};

struct Block {
  uint32_t label = 0;
  std::vector<Instruction> phis, instructions;  // the last is the terminator
  bool loops = false;                           // the header of a loop that is not marked to be unrolled
};

struct Function {
  uint32_t id = 0;
  std::vector<uint32_t> parameters;
  std::vector<Block> blocks;  // each block after its dominators
};

// The words of a value that is the same for all invocations, by slot.
using Words = std::vector<uint32_t>;

struct Variable {
  uint32_t id = 0, type = 0;  // type of its contents
  Storage storage{};
  uint32_t binding = UINT32_MAX;
  uint32_t built_in = UINT32_MAX;
  uint32_t initializer = 0;
};

class Module {
 public:
  // `words` must outlive the module. constants[i] is for SpecId i. `regroups`: see Parts. Throws Unknown.
  Module(std::span<const uint32_t> words, std::span<const uint32_t> constants, uint32_t subgroup,
         bool regroups = false);

  const Type& type(uint32_t id) const { return types_[id]; }
  const Type& type_of(uint32_t value) const { return types_[value_types_[value]]; }
  uint32_t type_id_of(uint32_t value) const { return value_types_[value]; }
  uint32_t bound() const { return static_cast<uint32_t>(types_.size()); }
  uint32_t invocations() const { return size_[0] * size_[1] * size_[2]; }
  const std::vector<uint32_t>& size() const { return size_; }
  uint32_t subgroup() const { return subgroup_; }
  uint32_t shared_bytes() const { return shared_bytes_; }

  const std::map<uint32_t, Words>& constants() const { return constants_; }
  uint32_t constant(uint32_t id) const;                                  // bytes of a scalar
  const std::vector<Variable>& variables() const { return variables_; }  // variables of the module, not of functions
  const Function& main() const { return functions_.at(entry_); }
  const Function& function(uint32_t id) const { return functions_.at(id); }
  const std::map<uint32_t, Function>& functions() const { return functions_; }
  uint32_t block_of(uint32_t label) const { return blocks_[label]; }

  // Products that only a sum uses, which become part of a multiply-add, and sums of dot products.
  enum class Fused : uint8_t { No, IntoSum, Product, IntoDot };
  Fused fused(uint32_t value) const { return fused_[value]; }
  // Whether the driver reassociates products and sums, and computes sqrt(x) as x times 1 / sqrt(x), which is NaN for 0.
  bool regroups() const { return regroups_; }
  // The parts of an f32 product or sum without NoContraction, which a reassociating driver may combine differently in another product or
  // sum. Empty for other values, or if this module's driver does not reassociate.
  struct Parts {
    Op op{};
    uint32_t a = 0, b = 0;  // values
    explicit operator bool() const { return a != 0; }
  };
  const Parts& parts(uint32_t value) const { return parts_[value]; }
  // Byte offset of each slot of a value of this type in memory.
  const std::vector<uint32_t>& bytes_of_slots(uint32_t type) const;
  const std::vector<uint32_t>& widths_of_slots(uint32_t type) const;  // bits of a scalar
  uint32_t bytes(uint32_t type) const;
  const Type& scalar_of(uint32_t type) const;  // type of the innermost elements

 private:
  struct Decorated {
    std::map<Decoration, uint32_t> own;
    std::map<uint32_t, std::map<Decoration, uint32_t>> members;
  };
  using Operands = std::span<const uint32_t>;

  void decode(std::span<const uint32_t> words, std::span<const uint32_t> given);
  bool decode_type(Op op, Operands o);
  bool decode_constant(Op op, Operands o, std::span<const uint32_t> given);
  void decode_in_function(Op op, Operands o);
  Words evaluate(Op op, Operands o) const;
  Type& matrix_of(uint32_t id);  // element type of an array, or itself
  void place_members(Type* type, const Decorated& decorated);
  Type& fresh(uint32_t id, Type::Kind kind, uint32_t slots);
  void fuse();
  void find_parts();
  template <class F>
  void each_instruction(const F& f) const;
  uint32_t own_decoration(uint32_t id, Decoration which, uint32_t otherwise) const;

  uint32_t subgroup_ = 0, entry_ = 0, shared_bytes_ = 0;
  std::vector<uint32_t> size_ = {1, 1, 1};
  std::vector<Type> types_;
  std::vector<uint32_t> value_types_, blocks_;
  std::map<uint32_t, Words> constants_;
  std::map<uint32_t, Decorated> decorations_;
  std::vector<Variable> variables_;
  std::map<uint32_t, Function> functions_;
  Function* open_ = nullptr;
  std::vector<Fused> fused_;  // by id
  std::vector<Parts> parts_;  // by id
  bool regroups_;
  mutable std::map<uint32_t, std::vector<uint32_t>> slot_bytes_, slot_widths_;
};

}  // namespace heed::interpreter
