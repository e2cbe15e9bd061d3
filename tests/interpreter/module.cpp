#include "interpreter/module.hpp"

#include <algorithm>

#include "interpreter/operations.hpp"

namespace heed::interpreter {
namespace {

constexpr uint32_t kMagic = 0x07230203, kHeaderWords = 5;
constexpr uint32_t kLocalSize = 17, kLocalSizeId = 38;
constexpr uint32_t kBfloatEncoding = 0;  // SPV_KHR_bfloat16

bool has_no_result(Op op) {
  switch (op) {
    case Op::Store:
    case Op::CooperativeMatrixStore:
    case Op::ControlBarrier:
    case Op::MemoryBarrier:
    case Op::LoopMerge:
    case Op::SelectionMerge:
    case Op::Branch:
    case Op::BranchConditional:
    case Op::Switch:
    case Op::Kill:
    case Op::Return:
    case Op::ReturnValue:
    case Op::Unreachable: return true;
    default: return false;
  }
}

}  // namespace

Module::Module(std::span<const uint32_t> words, std::span<const uint32_t> constants, uint32_t subgroup, bool regroups)
    : subgroup_(subgroup), regroups_(regroups) {
  if (words.size() < kHeaderWords || words[0] != kMagic) throw Unknown("this is no SPIR-V");
  types_.resize(words[3]);
  value_types_.resize(words[3]);
  blocks_.resize(words[3]);
  decode(words, constants);
  fuse();
  parts_.resize(words[3]);
  if (regroups) find_parts();
}

template <class F>
void Module::each_instruction(const F& f) const {
  for (const auto& [id, function] : functions_)
    for (const Block& block : function.blocks) {
      for (const Instruction& phi : block.phis) f(phi);
      for (const Instruction& i : block.instructions) f(i);
    }
}

void Module::find_parts() {
  each_instruction([&](const Instruction& i) {
    if (i.op != Op::FMul && i.op != Op::VectorTimesScalar && i.op != Op::FAdd && i.op != Op::FSub) return;
    const Type& scalar = scalar_of(i.type);
    if (scalar.kind != Type::Kind::Float || scalar.width != 32) return;
    if (own_decoration(i.result, Decoration::NoContraction, 0) == 0)
      parts_[i.result] = {i.op, i.operands[0], i.operands[1]};
  });
}

void Module::fuse() {
  std::vector<uint32_t> uses(types_.size());
  fused_.resize(types_.size());
  std::vector<Op> made_by(types_.size());
  const auto is_exact = [&](uint32_t id) { return own_decoration(id, Decoration::NoContraction, 0) != 0; };
  each_instruction([&](const Instruction& i) {
    // Some operands are literals, which are small, and not ids of products.
    for (const uint32_t operand : i.operands)
      if (operand < uses.size()) ++uses[operand];
    made_by[i.result] = i.op;
  });
  each_instruction([&](const Instruction& i) {
    if ((i.op != Op::FAdd && i.op != Op::FSub) || is_exact(i.result)) return;
    for (const uint32_t operand : i.operands) {
      if (fused_[i.result] != Fused::No || uses[operand] != 1 || is_exact(operand)) continue;
      if (made_by[operand] == Op::Dot) fused_[i.result] = Fused::IntoDot;
      if (made_by[operand] != Op::FMul && made_by[operand] != Op::VectorTimesScalar) continue;
      fused_[operand] = Fused::IntoSum;
      fused_[i.result] = Fused::Product;
    }
  });
}

uint32_t Module::constant(uint32_t id) const {
  const auto found = constants_.find(id);
  if (found == constants_.end() || found->second.size() != 1) throw Unknown("not a constant");
  return found->second[0];
}

void Module::decode(std::span<const uint32_t> words, std::span<const uint32_t> given) {
  uint32_t size_ids[3] = {};
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16;
    const Op op = static_cast<Op>(words[at] & 0xffffu);
    if (length == 0 || length > words.size() - at) throw Unknown("the SPIR-V is damaged");
    const Operands o = words.subspan(at + 1, length - 1);
    at += length;
    if (op == Op::Decorate)
      decorations_[o[0]].own[static_cast<Decoration>(o[1])] = o.size() > 2 ? o[2] : 1;
    else if (op == Op::MemberDecorate)
      decorations_[o[0]].members[o[1]][static_cast<Decoration>(o[2])] = o.size() > 3 ? o[3] : 1;
    else if (op == Op::ExecutionModeId && o[1] == kLocalSizeId)
      std::copy_n(o.begin() + 2, 3, size_ids);
    else if (op == Op::ExecutionMode && o[1] == kLocalSize)
      std::copy_n(o.begin() + 2, 3, size_.begin());
    else if (op == Op::EntryPoint)
      entry_ = o[1];
    else if (decode_type(op, o) || decode_constant(op, o, given))
      continue;
    else
      decode_in_function(op, o);
  }
  if (size_ids[0] != 0)
    for (size_t i = 0; i < 3; ++i) size_[i] = constant(size_ids[i]);
  for (const auto& [id, decorated] : decorations_) {
    const auto built_in = decorated.own.find(Decoration::BuiltIn);
    if (built_in != decorated.own.end() && built_in->second == static_cast<uint32_t>(BuiltIn::WorkgroupSize))
      size_ = constants_.at(id);
  }
}

Type& Module::fresh(uint32_t id, Type::Kind kind, uint32_t slots) {
  types_[id].kind = kind;
  types_[id].slots = slots;
  return types_[id];
}

uint32_t Module::own_decoration(uint32_t id, Decoration which, uint32_t otherwise) const {
  const auto decorated = decorations_.find(id);
  if (decorated == decorations_.end()) return otherwise;
  const auto found = decorated->second.own.find(which);
  return found == decorated->second.own.end() ? otherwise : found->second;
}

Type& Module::matrix_of(uint32_t id) {
  while (types_[id].kind == Type::Kind::Array) id = types_[id].element;
  return types_[id];
}

void Module::place_members(Type* type, const Decorated& decorated) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < type->members.size(); ++i) {
    const auto member = decorated.members.find(i);
    if (member != decorated.members.end()) {
      if (const auto offset = member->second.find(Decoration::Offset); offset != member->second.end())
        end = offset->second;
      if (const auto stride = member->second.find(Decoration::MatrixStride); stride != member->second.end())
        matrix_of(type->members[i]).stride = stride->second;
    }
    type->offsets.push_back(end);
    end += bytes(type->members[i]);
    type->slots += types_[type->members[i]].slots;
  }
}

bool Module::decode_type(Op op, Operands o) {
  using Kind = Type::Kind;
  switch (op) {
    case Op::TypeVoid: fresh(o[0], Kind::Void, 0); return true;
    case Op::TypeBool: fresh(o[0], Kind::Bool, 1); return true;
    case Op::TypeInt:
    case Op::TypeFloat:
      if (o[1] > 32) throw Unknown("numbers of 64 bits");
      fresh(o[0], op == Op::TypeInt ? Kind::Int : Kind::Float, 1).width = o[1];
      if (op == Op::TypeFloat && o.size() > 2) {
        if (o[2] != kBfloatEncoding) throw Unknown("numbers of 8 bits");
        types_[o[0]].bfloat = true;
      }
      return true;
    case Op::TypeVector:
    case Op::TypeMatrix: {
      Type& type = fresh(o[0], op == Op::TypeVector ? Kind::Vector : Kind::Matrix, types_[o[1]].slots * o[2]);
      type.element = o[1];
      type.count = o[2];
      type.stride = bytes(o[1]);
      return true;
    }
    case Op::TypeArray:
    case Op::TypeRuntimeArray: {
      const uint32_t count = op == Op::TypeArray ? constant(o[2]) : 0;
      Type& type = fresh(o[0], Kind::Array, types_[o[1]].slots * count);
      type.element = o[1];
      type.count = count;
      // Cooperative matrices have no layout in memory.
      const bool in_memory = scalar_of(o[1]).kind != Type::Kind::CooperativeMatrix;
      type.stride = in_memory ? own_decoration(o[0], Decoration::ArrayStride, bytes(o[1])) : 0;
      return true;
    }
    case Op::TypeStruct: {
      Type& type = fresh(o[0], Kind::Struct, 0);
      type.members.assign(o.begin() + 1, o.end());
      place_members(&type, decorations_[o[0]]);
      return true;
    }
    case Op::TypePointer: {
      Type& type = fresh(o[0], Kind::Pointer, 1);
      type.storage = static_cast<Storage>(o[1]);
      type.element = o[2];
      return true;
    }
    case Op::TypeFunction: fresh(o[0], Kind::Function, 0); return true;
    case Op::TypeCooperativeMatrix: {
      Type& type = fresh(o[0], Kind::CooperativeMatrix, 0);
      type.element = o[1];
      const auto scope = static_cast<Scope>(constant(o[2]));
      if (scope != Scope::Subgroup) throw Unknown("a matrix of another scope");
      type.rows = constant(o[3]);
      type.columns = constant(o[4]);
      type.sharers = subgroup_;
      type.slots = (type.rows * type.columns + type.sharers - 1) / type.sharers;
      return true;
    }
    default: return false;
  }
}

bool Module::decode_constant(Op op, Operands o, std::span<const uint32_t> given) {
  const auto set = [&](Words words) {
    value_types_[o[1]] = o[0];
    constants_[o[1]] = std::move(words);
    return true;
  };
  const auto specialized = [&](uint32_t otherwise) {
    const uint32_t id = own_decoration(o[1], Decoration::SpecId, UINT32_MAX);
    return Words{id < given.size() ? given[id] : otherwise};
  };
  switch (op) {
    case Op::ConstantTrue: return set({1});
    case Op::ConstantFalse: return set({0});
    case Op::Constant: return set({o[2]});
    case Op::ConstantNull: return set(Words(types_[o[0]].slots));
    case Op::SpecConstantTrue: return set(specialized(1));
    case Op::SpecConstantFalse: return set(specialized(0));
    case Op::SpecConstant: return set(specialized(o[2]));
    case Op::ConstantComposite:
    case Op::SpecConstantComposite: {
      Words words;
      for (const uint32_t id : o.subspan(2)) {
        const Words& part = constants_.at(id);
        words.insert(words.end(), part.begin(), part.end());
      }
      // A constant cooperative matrix has one value for all elements.
      if (types_[o[0]].kind == Type::Kind::CooperativeMatrix) words.assign(types_[o[0]].slots, words.at(0));
      return set(std::move(words));
    }
    case Op::SpecConstantOp: return set(evaluate(static_cast<Op>(o[2]), o.subspan(3)));
    case Op::Undef:
      // A value that is unlikely to be right by chance.
      if (open_ != nullptr) return false;
      return set(Words(types_[o[0]].slots, 0xffffdeadu));
    default: return false;
  }
}

Words Module::evaluate(Op op, Operands o) const {
  if (op == Op::CompositeExtract) {
    const Words& from = constants_.at(o[0]);
    if (o.size() != 2 || from.size() <= o[1]) throw Unknown("an extraction from a constant");
    return {from[o[1]]};
  }
  if (op == Op::Select) return constants_.at(constant(o[0]) != 0 ? o[1] : o[2]);
  const uint32_t a = constant(o[0]), b = o.size() > 1 ? constant(o[1]) : 0;
  if (op == Op::LogicalNot) return {a ^ 1u};
  Words result;
  const auto apply = [&](const auto& f) { return result = {f(a, b)}, true; };
  if (!use_operation(op, UINT32_MAX, apply))
    throw Unknown("operation " + std::to_string(static_cast<uint32_t>(op)) + " on constants");
  return result;
}

void Module::decode_in_function(Op op, Operands o) {
  if (op == Op::Variable) {
    const Type& pointer = types_[o[0]];
    Variable variable = {o[1], pointer.element, static_cast<Storage>(o[2])};
    variable.binding = own_decoration(o[1], Decoration::Binding, UINT32_MAX);
    variable.built_in = own_decoration(o[1], Decoration::BuiltIn, UINT32_MAX);
    if (o.size() > 3) variable.initializer = o[3];
    value_types_[o[1]] = o[0];
    if (variable.storage == Storage::Workgroup) shared_bytes_ += (bytes(variable.type) + 3u) / 4u * 4u;
    if (open_ == nullptr) {
      variables_.push_back(variable);
      return;
    }
  }
  if (op == Op::Function) {
    open_ = &functions_[o[1]];
    open_->id = o[1];
    value_types_[o[1]] = o[0];
    return;
  }
  if (open_ == nullptr) return;  // names, capabilities, the memory model
  if (op == Op::FunctionParameter) {
    value_types_[o[1]] = o[0];
    open_->parameters.push_back(o[1]);
    return;
  }
  if (op == Op::FunctionEnd) {
    open_ = nullptr;
    return;
  }
  if (op == Op::Label) {
    blocks_[o[0]] = static_cast<uint32_t>(open_->blocks.size());
    open_->blocks.emplace_back().label = o[0];
    return;
  }
  Block& block = open_->blocks.back();
  constexpr uint32_t kUnroll = 1;
  if (op == Op::LoopMerge) block.loops = (o[2] & kUnroll) == 0;
  if (op == Op::Nop || op == Op::LoopMerge || op == Op::SelectionMerge) return;
  if (has_no_result(op)) {
    block.instructions.push_back({op, 0, 0, o});
    return;
  }
  value_types_[o[1]] = o[0];
  (op == Op::Phi ? block.phis : block.instructions).push_back({op, o[0], o[1], o.subspan(2)});
}

uint32_t Module::bytes(uint32_t id) const {
  const Type& type = types_[id];
  switch (type.kind) {
    case Type::Kind::Bool: return 4;
    case Type::Kind::Int:
    case Type::Kind::Float: return type.width / 8;
    case Type::Kind::Struct: return type.members.empty() ? 0 : type.offsets.back() + bytes(type.members.back());
    default: return type.count * type.stride;
  }
}

const Type& Module::scalar_of(uint32_t id) const {
  const Type* type = &types_[id];
  while (type->element != 0 && type->kind != Type::Kind::CooperativeMatrix) type = &types_[type->element];
  return *type;
}

const std::vector<uint32_t>& Module::bytes_of_slots(uint32_t id) const {
  const auto found = slot_bytes_.find(id);
  if (found != slot_bytes_.end()) return found->second;
  const Type& type = types_[id];
  std::vector<uint32_t> result;
  const auto add = [&](uint32_t part, uint32_t from) {
    const std::vector<uint32_t> own = bytes_of_slots(part);
    for (const uint32_t at : own) result.push_back(from + at);
  };
  if (type.scalar()) result = {0};
  for (uint32_t i = 0; i < type.count; ++i) add(type.element, i * type.stride);
  for (uint32_t i = 0; i < type.members.size(); ++i) add(type.members[i], type.offsets[i]);
  return slot_bytes_[id] = result;
}

const std::vector<uint32_t>& Module::widths_of_slots(uint32_t id) const {
  const auto found = slot_widths_.find(id);
  if (found != slot_widths_.end()) return found->second;
  const Type& type = types_[id];
  std::vector<uint32_t> result;
  const auto add = [&](uint32_t part) {
    const std::vector<uint32_t> own = widths_of_slots(part);
    result.insert(result.end(), own.begin(), own.end());
  };
  if (type.scalar()) result = {bytes(id) * 8};
  for (uint32_t i = 0; i < type.count; ++i) add(type.element);
  for (const uint32_t member : type.members) add(member);
  return slot_widths_[id] = result;
}

}  // namespace heed::interpreter
