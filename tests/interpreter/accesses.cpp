// Pointers, loads, stores and atomics. A pointer is an offset from its variable: in bytes for shared and bound memory, in slots for an
// invocation's private memory.
#include <algorithm>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {

bool Workgroup::is_in_memory(Storage storage) const {
  return storage == Storage::StorageBuffer || storage == Storage::Workgroup || storage == Storage::PushConstant;
}

Workgroup::Place Workgroup::place_of(uint32_t pointer) {
  const Variable& variable = *pointees_[pointer];
  if (variable.storage == Storage::PushConstant) return {nullptr, 0, push_.size(), false, false};
  if (variable.storage == Storage::Workgroup)
    return {&shared_, shared_at_.at(variable.id), module_.bytes(variable.type), true, true};
  if (variable.binding >= bindings_.size()) throw Unknown("a binding that is not there");
  const Binding& binding = bindings_[variable.binding];
  return {binding.memory, binding.offset, binding.range, false, binding.written};
}

Access Workgroup::access(const Place& place, uint32_t invocation, bool atomic) const {
  const auto subgroup = static_cast<uint16_t>(invocation / module_.subgroup());
  return {place.shared ? shared_now_ : buffers_now_,
          begun_,
          clock_->dispatch,
          static_cast<uint16_t>(invocation),
          subgroup,
          place.shared ? phases_[subgroup] : uint16_t{0},
          atomic};
}

bool Workgroup::is_within(const Instruction& i, const Place& place, uint32_t offset, uint32_t width,
                          uint32_t invocation) {
  if (uint64_t{offset} + width / 8 <= place.range) return true;
  wrong(i,
        place.shared              ? "leaves a shared variable"
        : place.memory != nullptr ? "leaves what is bound"
                                  : "leaves the push constants",
        invocation);
  return false;
}

uint32_t Workgroup::read(const Instruction& i, const Place& place, uint32_t offset, uint32_t width,
                         uint32_t invocation) {
  uint32_t value = 0;
  if (!is_within(i, place, offset, width, invocation)) return 0xffffdead;
  if (place.memory == nullptr) {
    std::memcpy(&value, push_.data() + offset, width / 8);
    return value;
  }
  const char* said = place.memory->read(place.offset + offset, width / 8, access(place, invocation, false));
  if (said != nullptr) wrong(i, said, invocation);
  std::memcpy(&value, place.memory->data() + place.offset + offset, width / 8);
  return value;
}

void Workgroup::write(const Instruction& i, const Place& place, uint32_t offset, uint32_t width, uint32_t invocation,
                      uint32_t value) {
  if (!is_within(i, place, offset, width, invocation)) return;
  if (!place.writable) wrong(i, "writes a buffer that the dispatch is not said to write", invocation);
  const char* said = place.memory->write(place.offset + offset, width / 8, access(place, invocation, false));
  if (said != nullptr) wrong(i, said, invocation);
  std::memcpy(place.memory->data() + place.offset + offset, &value, width / 8);
}

void Workgroup::make_pointer(const Instruction& i, const Lanes& at) {
  const uint32_t base = i.operands[0];
  const Variable* variable = pointees_[base];
  pointees_[i.result] = variable;
  const bool in_memory = is_in_memory(variable->storage), is_base = variable->id == base;
  uint32_t type = module_.type_of(base).element;
  const Slot result = slot(i.result);
  const uint32_t* from = is_base ? zero_.data() : slot(base);
  each(at, [&](uint32_t l) { result[l] = from[l]; });
  for (const uint32_t index : i.operands.subspan(1)) {
    const Type& now = module_.type(type);
    if (now.kind == Type::Kind::Struct) {
      const uint32_t member = module_.constant(index);
      uint32_t step = in_memory ? now.offsets[member] : 0;
      for (uint32_t m = 0; m < member && !in_memory; ++m) step += module_.type(now.members[m]).slots;
      each(at, [&](uint32_t l) { result[l] = result[l] > UINT32_MAX - step ? UINT32_MAX : result[l] + step; });
      type = now.members[member];
      continue;
    }
    const uint32_t step = in_memory ? now.stride : module_.type(now.element).slots;
    const Slot indices = slot(index);
    each(at, [&](uint32_t l) {
      // A pointer out of range is reported when it is used: compilers may create pointers that they do not use.
      const uint64_t to = result[l] + uint64_t{indices[l]} * step;
      const bool outside = (now.count != 0 && indices[l] >= now.count) || to > UINT32_MAX;
      result[l] = outside ? UINT32_MAX : static_cast<uint32_t>(to);
    });
    type = now.element;
  }
}

void Workgroup::load(const Instruction& i, const Lanes& at) {
  const uint32_t pointer = i.operands[0];
  const Variable& variable = *pointees_[pointer];
  const uint32_t* offsets = variable.id == pointer ? zero_.data() : slot(pointer);
  const uint32_t slots = module_.type(i.type).slots;
  if (!is_in_memory(variable.storage)) {
    const std::vector<uint32_t>& held = values_[variable.id];
    for (uint32_t s = 0; s < slots; ++s) {
      const Slot result = slot(i.result, s);
      each(at, [&](uint32_t l) {
        const size_t from = (size_t{offsets[l]} + s) * n_ + l;
        if (from >= held.size()) wrong(i, "leaves a variable", l);
        result[l] = from < held.size() ? held[from] : 0xffffdead;
      });
    }
    return;
  }
  const Place place = place_of(pointer);
  const std::vector<uint32_t>&bytes = module_.bytes_of_slots(i.type), &widths = module_.widths_of_slots(i.type);
  count(place, offsets, bytes.back() + widths.back() / 8, at);
  for (uint32_t s = 0; s < slots; ++s) {
    const Slot result = slot(i.result, s);
    if (place.memory == nullptr) {  // push constants: uniform
      each(at, [&](uint32_t l) {
        if (offsets[l] != offsets[at.list[0]]) throw Unknown("an index into the push constants");
      });
      const uint32_t from = offsets[at.list[0]] + bytes[s];
      const uint32_t value = read(i, place, from, widths[s], at.list[0]);
      each(at, [&](uint32_t l) { result[l] = value; });
      continue;
    }
    each(at, [&](uint32_t l) {
      const uint64_t from = uint64_t{offsets[l]} + bytes[s];
      result[l] = read(i, place, static_cast<uint32_t>(std::min<uint64_t>(from, UINT32_MAX)), widths[s], l);
    });
  }
}

void Workgroup::store(const Instruction& i, const Lanes& at) {
  const uint32_t pointer = i.operands[0], value = i.operands[1], type = module_.type_id_of(value);
  const Variable& variable = *pointees_[pointer];
  const uint32_t* offsets = variable.id == pointer ? zero_.data() : slot(pointer);
  const uint32_t slots = module_.type(type).slots;
  if (!is_in_memory(variable.storage)) {
    std::vector<uint32_t>& held = values_[variable.id];
    for (uint32_t s = 0; s < slots; ++s) {
      const Slot from = slot(value, s);
      each(at, [&](uint32_t l) {
        const size_t to = (size_t{offsets[l]} + s) * n_ + l;
        if (to >= held.size())
          wrong(i, "leaves a variable", l);
        else
          held[to] = from[l];
      });
    }
    return;
  }
  const Place place = place_of(pointer);
  const std::vector<uint32_t>&bytes = module_.bytes_of_slots(type), &widths = module_.widths_of_slots(type);
  count(place, offsets, bytes.back() + widths.back() / 8, at);
  for (uint32_t s = 0; s < slots; ++s) {
    const Slot from = slot(value, s);
    each(at, [&](uint32_t l) {
      const uint64_t to = uint64_t{offsets[l]} + bytes[s];
      write(i, place, static_cast<uint32_t>(std::min<uint64_t>(to, UINT32_MAX)), widths[s], l, from[l]);
    });
  }
}

void Workgroup::do_atomic(const Instruction& i, const Lanes& at) {
  const uint32_t pointer = i.operands[0];
  const Variable& variable = *pointees_[pointer];
  const uint32_t* offsets = variable.id == pointer ? zero_.data() : slot(pointer);
  const Place place = place_of(pointer);
  const Slot result = slot(i.result), operand = slot(i.operands[3]);
  each(at, [&](uint32_t l) {
    if (!is_within(i, place, offsets[l], 32, l)) return;
    if (!place.writable) wrong(i, "writes a buffer that the dispatch is not said to write", l);
    const uint64_t where = place.offset + offsets[l];
    // If AtomicAnd or AtomicOr leaves a half of the word unchanged, that half may belong to another invocation.
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t bits = operand[l] >> (16 * half) & 0xffff;
      if ((i.op == Op::AtomicAnd && bits == 0xffff) || (i.op == Op::AtomicOr && bits == 0)) continue;
      Access by = access(place, l, true);
      by.clears = i.op == Op::AtomicAnd && ((bits & 0xff) == 0 || bits >> 8 == 0);  // marks cover two bytes each
      const char* said = place.memory->write(where + 2 * half, 2, by);
      if (said != nullptr) wrong(i, said, l);
    }
    uint32_t value = 0;
    std::memcpy(&value, place.memory->data() + where, 4);
    result[l] = value;
    switch (i.op) {
      case Op::AtomicIAdd: value += operand[l]; break;
      case Op::AtomicUMin: value = std::min(value, operand[l]); break;
      case Op::AtomicUMax: value = std::max(value, operand[l]); break;
      case Op::AtomicAnd: value &= operand[l]; break;
      default: value |= operand[l];
    }
    std::memcpy(place.memory->data() + where, &value, 4);
  });
}

bool Workgroup::do_access(const Instruction& i, const Lanes& at) {
  switch (i.op) {
    case Op::AccessChain:
    case Op::InBoundsAccessChain: make_pointer(i, at); return true;
    case Op::Load: load(i, at); return true;
    case Op::Store: store(i, at); return true;
    case Op::Variable: {
      const Variable& variable = *pointees_[i.result];
      for (uint32_t s = 0; s < module_.type(variable.type).slots; ++s)
        each(at, [&](uint32_t l) {
          slot(i.result, s)[l] = i.operands.size() > 1 ? slot(i.operands[1], s)[l] : 0xffffdead;
        });
      return true;
    }
    case Op::AtomicIAdd:
    case Op::AtomicUMin:
    case Op::AtomicUMax:
    case Op::AtomicAnd:
    case Op::AtomicOr: do_atomic(i, at); return true;
    default: return false;
  }
}

}  // namespace heed::interpreter
