#include "interpreter/counts.hpp"

#include <algorithm>
#include <bit>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {
namespace {

// Shared memory has 32 banks of 4 bytes on NVIDIA ("CUDA C++ Programming Guide", Shared Memory: 32 banks, a word of 32 bits each per
// clock), and on AMD and Qualcomm as far as is published ("RDNA3 Instruction Set Architecture", chapter 12: 32 banks for each half of the
// 128 KiB). Accesses of 8 and 16 bytes are split into halves and quarters of 32 invocations, each of which takes at least one cycle.
constexpr uint64_t kBanks = 32, kWord = 4;

void sort_once(std::vector<uint64_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

void add_words(std::vector<uint64_t>& words, uint64_t address, uint64_t bytes) {
  for (uint64_t word = address / kWord; word * kWord < address + bytes; ++word) words.push_back(word);
}

bool is_float_comparison(Op op) { return op >= Op::FOrdEqual && op <= Op::FUnordGreaterThanEqual; }

bool is_special(Glsl op) {
  switch (op) {
    case Glsl::Sin:
    case Glsl::Cos:
    case Glsl::Tanh:
    case Glsl::Pow:
    case Glsl::Exp:
    case Glsl::Log:
    case Glsl::Exp2:
    case Glsl::Log2:
    case Glsl::Sqrt:
    case Glsl::InverseSqrt: return true;
    default: return false;
  }
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  each_count([&](auto member) { this->*member += other.*member; });
  for (size_t i = 0; i < kSegments.size(); ++i) {
    segments[i] += other.segments[i], touched[i] += other.touched[i];
    for (const auto& [place, count] : other.touched_at) touched_at[place][i] += count[i];
  }
  return *this;
}

void Counts::scale(uint64_t all, uint64_t some) {
  const auto scaled = [&](uint64_t count) {
    return static_cast<uint64_t>(static_cast<double>(count) * static_cast<double>(all) / static_cast<double>(some));
  };
  each_count([&](auto member) { this->*member = scaled(this->*member); });
  for (size_t i = 0; i < kSegments.size(); ++i) {
    segments[i] = scaled(segments[i]), touched[i] = scaled(touched[i]);
    for (auto& [place, count] : touched_at) count[i] = scaled(count[i]);
  }
}

// --- Memory -------------------------------------------------------------------------------------------------------------

// One cycle serves as many invocations as all banks have bytes for. Each bank returns one word in a cycle.
void Workgroup::count_turns(std::span<const uint64_t> addresses, uint32_t bytes) {
  const size_t at_a_time = std::max<size_t>(1, kBanks * kWord / std::max<uint32_t>(bytes, kWord));
  std::vector<uint64_t> words;
  for (size_t begin = 0; begin < addresses.size(); begin += at_a_time) {
    words.clear();
    for (const uint64_t address : addresses.subspan(begin, std::min(at_a_time, addresses.size() - begin)))
      add_words(words, address, bytes);
    sort_once(words);
    uint64_t of_bank[kBanks] = {};
    for (const uint64_t word : words) ++of_bank[word % kBanks];
    report_->counts->shared_turns += *std::max_element(of_bank, of_bank + kBanks);
    report_->counts->fewest_turns += (words.size() + kBanks - 1) / kBanks;
    report_->counts->shared_bytes += words.size() * kWord;
  }
}

void Workgroup::count_segments(const Place& place, std::span<const uint64_t> addresses, uint32_t bytes) {
  Counts& counts = *report_->counts;
  std::vector<uint64_t> words;
  for (const uint64_t address : addresses) add_words(words, address, bytes);
  sort_once(words);
  counts.bytes += words.size() * kWord;
  std::array<uint64_t, kSegments.size()>& touched_there = counts.touched_at[{place.memory, place.offset}];
  for (size_t i = 0; i < kSegments.size(); ++i) {
    uint64_t last = UINT64_MAX;
    for (const uint64_t word : words) {
      const uint64_t segment = word * kWord / kSegments[i];
      if (segment == last) continue;
      last = segment;
      ++counts.segments[i];
      // A segment is identified by the address of its first byte, which is unique, wherever buffers begin.
      const uintptr_t first = std::bit_cast<uintptr_t>(place.memory->data()) + segment * kSegments[i];
      if (!touched_[i].insert(first).second) continue;
      ++counts.touched[i];
      ++touched_there[i];
    }
  }
}

void Workgroup::count(const Place& place, const uint32_t* offsets, uint32_t bytes, const Lanes& at) {
  if (report_->counts == nullptr) return;
  if (place.memory == nullptr) {  // push constants
    report_->counts->scalars += subgroups_at(at);
    return;
  }
  std::vector<uint64_t> addresses;
  for (size_t k = 0; k < at.list.size();) {
    addresses.clear();
    const uint32_t subgroup = at.list[k] / module_.subgroup();
    for (; k < at.list.size() && at.list[k] / module_.subgroup() == subgroup; ++k)
      addresses.push_back(place.offset + offsets[at.list[k]]);
    ++(place.shared ? report_->counts->shared_requests : report_->counts->requests);
    if (place.shared)
      count_turns(addresses, bytes);
    else
      count_segments(place, addresses, bytes);
  }
  count_issues(1, at);
}

// Matrix units load eight lines of 16 bytes at a time ("PTX ISA", ldmatrix). A matrix from a buffer is one request. If all lines are equal,
// invocations read them, and each holds elements of one line in a few registers: eight at a time ("PTX ISA", fragments of mma), as in NVK.
void Workgroup::count_matrix(const Place& place, uint32_t base, uint32_t stride, uint32_t lines, uint32_t bytes) {
  if (report_->counts == nullptr) return;
  Counts& counts = *report_->counts;
  ++counts.issues;
  counts.lanes += module_.subgroup();
  std::vector<uint64_t> addresses;
  if (!place.shared) {
    for (uint32_t line = 0; line < lines; ++line) addresses.push_back(place.offset + base + uint64_t{line} * stride);
    ++counts.requests;
    return count_segments(place, addresses, bytes);
  }
  ++counts.shared_requests;
  if (stride == 0) {
    for (uint32_t part = 0; part < bytes; part += 32) {
      addresses.assign(1, place.offset + base + part);
      count_turns(addresses, std::min(32u, bytes - part));
    }
    return;
  }
  for (uint32_t first = 0; first < lines; first += 8)
    for (uint32_t part = 0; part < bytes; part += 16) {
      addresses.clear();
      for (uint32_t line = first; line < std::min(lines, first + 8); ++line)
        addresses.push_back(place.offset + base + uint64_t{line} * stride + part);
      count_turns(addresses, std::min(16u, bytes - part));
    }
}

// --- Arithmetic -----------------------------------------------------------------------------------------------------------

uint64_t Workgroup::subgroups_at(const Lanes& at) const {
  const uint32_t size = module_.subgroup();
  if (at.all) return phases_.size();
  uint64_t count = 0;
  for (size_t k = 0; k < at.list.size(); ++k) count += k == 0 || at.list[k - 1] / size != at.list[k] / size ? 1 : 0;
  return count;
}

void Workgroup::count_issues(uint64_t each, const Lanes& at) {
  report_->counts->issues += each * subgroups_at(at);
  report_->counts->lanes += each * at.list.size();
}

// Whether all invocations of each subgroup have the same value.
bool Workgroup::is_scalar(uint32_t value, const Lanes& at) {
  const uint32_t size = module_.subgroup();
  for (uint32_t s = 0; s < module_.type_of(value).slots; ++s) {
    const Slot x = slot(value, s);
    for (size_t k = 1; k < at.list.size(); ++k)
      if (x[at.list[k]] != x[at.list[k - 1]] && at.list[k] / size == at.list[k - 1] / size) return false;
  }
  return true;
}

void Workgroup::count_integers(uint64_t each, uint32_t value, const Lanes& at) {
  if (is_scalar(value, at)) {
    report_->counts->scalars += each * subgroups_at(at);
    return;
  }
  report_->counts->integers += each * at.list.size();
  count_issues(each, at);
}

// Pointers: an index that is not constant costs an integer multiply-add. It costs more in an invocation's private array.
void Workgroup::count_pointer(const Instruction& i, const Lanes& at) {
  const bool in_memory = is_in_memory(pointees_[i.result]->storage);
  for (const uint32_t index : i.operands.subspan(1)) {
    if (module_.constants().contains(index)) continue;
    if (in_memory)
      count_integers(1, index, at);
    else if (!is_scalar(index, at))
      report_->counts->indexed += at.list.size();
  }
}

// Called after each instruction.
void Workgroup::count_arithmetic(const Instruction& i, const Lanes& at) {
  Counts& counts = *report_->counts;
  const uint64_t slots = i.type == 0 ? 0 : module_.type(i.type).slots, lanes = at.list.size();
  const auto issue = [&](uint64_t Counts::* kind, uint64_t each) {
    counts.*kind += each * lanes;
    count_issues(each, at);
    if (kind == &Counts::multiply_adds) counts.multiply_issues += each * subgroups_at(at);
  };
  const auto is_float = [&](uint32_t type) {
    const Type::Kind kind = module_.scalar_of(type).kind;
    return kind == Type::Kind::Float || kind == Type::Kind::CooperativeMatrix;
  };
  switch (i.op) {
    case Op::FAdd:
    case Op::FSub: {
      const Module::Fused fused = module_.fused(i.result);
      if (fused == Module::Fused::IntoDot) return;
      return issue(fused == Module::Fused::Product ? &Counts::multiply_adds : &Counts::floats, slots);
    }
    case Op::FMul:
    case Op::VectorTimesScalar:
    case Op::MatrixTimesScalar:
      if (module_.fused(i.result) == Module::Fused::No) issue(&Counts::floats, slots);
      return;
    case Op::Dot: return issue(&Counts::multiply_adds, module_.type_of(i.operands[0]).slots);
    case Op::VectorTimesMatrix: return issue(&Counts::multiply_adds, slots * module_.type_of(i.operands[0]).slots);
    case Op::MatrixTimesVector: return issue(&Counts::multiply_adds, module_.type_of(i.operands[0]).slots);
    // Four products of bytes in one instruction.
    case Op::SDot:
    case Op::UDot:
    case Op::SUDot:
      counts.byte_dots += lanes;
      counts.multiply_adds += 3 * lanes;
      return issue(&Counts::multiply_adds, 1);
    case Op::FDiv: return issue(&Counts::specials, slots);
    case Op::FConvert:
    case Op::ConvertUToF:
    case Op::ConvertSToF:
    case Op::ConvertFToU:
    case Op::ConvertFToS: return issue(&Counts::floats, slots);
    case Op::ExtInst: {
      const auto op = static_cast<Glsl>(i.operands[1]);
      if (op == Glsl::FAbs) return;
      if (op == Glsl::Fma) return issue(&Counts::multiply_adds, slots);
      if (is_special(op)) return issue(&Counts::specials, slots);
      if (op == Glsl::PackHalf2x16 || op == Glsl::UnpackHalf2x16) return issue(&Counts::floats, 2 / slots);
      return is_float(i.type) ? issue(&Counts::floats, slots) : count_integers(slots, i.result, at);
    }
    case Op::Select: return is_float(i.type) ? issue(&Counts::floats, slots) : count_integers(slots, i.result, at);
    case Op::IAdd:
    case Op::ISub:
    case Op::IMul:
    case Op::SNegate:
    case Op::Not:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::ShiftLeftLogical:
    case Op::ShiftRightLogical:
    case Op::ShiftRightArithmetic:
    case Op::BitFieldUExtract:
    case Op::BitFieldSExtract:
    case Op::UConvert:
    case Op::SConvert:
    case Op::IEqual:
    case Op::INotEqual:
    case Op::ULessThan:
    case Op::ULessThanEqual:
    case Op::UGreaterThan:
    case Op::UGreaterThanEqual:
    case Op::SLessThan:
    case Op::SLessThanEqual:
    case Op::SGreaterThan:
    case Op::SGreaterThanEqual:
    case Op::LogicalAnd:
    case Op::LogicalOr: return count_integers(slots, i.result, at);
    // An integer division by a value that is not constant takes about twenty instructions; by a constant it is a shift.
    case Op::UDiv:
    case Op::SDiv:
    case Op::UMod:
      return count_integers(module_.constants().contains(i.operands[1]) ? slots : 20 * slots, i.result, at);
    case Op::UMulExtended:
    case Op::IAddCarry: return count_integers(2, i.result, at);
    case Op::AccessChain:
    case Op::InBoundsAccessChain: return count_pointer(i, at);
    case Op::GroupNonUniformBroadcast:
    case Op::GroupNonUniformShuffle:
    case Op::GroupNonUniformShuffleXor: return issue(&Counts::exchanges, slots);
    // Sums over a subgroup form a tree: an exchange and an operation for each doubling.
    case Op::GroupNonUniformIAdd:
    case Op::GroupNonUniformFAdd:
    case Op::GroupNonUniformFMin:
    case Op::GroupNonUniformFMax:
    case Op::GroupNonUniformUMin:
    case Op::GroupNonUniformUMax:
    case Op::GroupNonUniformBitwiseAnd:
    case Op::GroupNonUniformBitwiseOr:
      return issue(&Counts::exchanges, 2 * slots * static_cast<uint64_t>(std::bit_width(module_.subgroup() - 1)));
    case Op::ControlBarrier:
      if (static_cast<Scope>(module_.constant(i.operands[0])) == Scope::Workgroup) ++counts.barriers;
      return;
    case Op::CooperativeMatrixMulAdd: {
      const Shape a = shape_of(module_.type_id_of(i.operands[0])), c = shape_of(i.type);
      const uint64_t times = lanes / c.sharers;
      counts.matrix_operations += times;
      counts.matrix_multiply_adds += times * c.elements() * a.columns;
      if (a.width == 8) counts.byte_matrix_multiply_adds += times * c.elements() * a.columns;
      return;
    }
    default:
      if (is_float_comparison(i.op)) issue(&Counts::floats, slots);
      if (i.op >= Op::AtomicIAdd && i.op <= Op::AtomicOr) {
        counts.atomics += lanes;
        ++counts.requests;
        count_issues(1, at);
      }
  }
}

}  // namespace heed::interpreter
