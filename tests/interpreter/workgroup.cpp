#include "interpreter/workgroup.hpp"

#include <algorithm>
#include <numeric>

#include "base/half.hpp"

namespace heed::interpreter {
namespace {

constexpr uint64_t kMostSteps = 20'000'000;  // blocks executed by one workgroup
constexpr uint32_t kGarbage = 0xffffdead;

void merge(std::vector<uint16_t>* into, const std::vector<uint16_t>& more) {
  const auto middle = into->insert(into->end(), more.begin(), more.end());
  std::inplace_merge(into->begin(), middle, into->end());
}

}  // namespace

float float_of(uint32_t bits, uint32_t width) {
  return width == 16 ? half_to_float(static_cast<uint16_t>(bits)) : as_float(bits);
}
uint32_t bits_of(float value, uint32_t width) { return width == 16 ? float_to_half(value) : as_bits(value); }

Workgroup::Workgroup(const Module& module, std::span<const Binding> bindings, std::span<const std::byte> push,
                     const std::array<uint32_t, 3>& groups, Clock* clock, Report* report)
    : module_(module),
      bindings_(bindings),
      push_(push),
      groups_(groups),
      clock_(clock),
      report_(report),
      n_(module.invocations()),
      values_(module.bound() + module.functions().size()),
      pointees_(module.bound()),
      zero_(module.invocations()),
      from_(module.invocations()),
      shared_(module.shared_bytes(), false, report->counts == nullptr),
      phases_((module.invocations() + module.subgroup() - 1) / module.subgroup()) {
  const auto make = [&](uint32_t id, uint32_t slots) { values_[id].assign(size_t{slots} * n_, kGarbage); };
  for (const auto& [id, words] : module.constants()) {
    make(id, static_cast<uint32_t>(words.size()));
    for (size_t s = 0; s < words.size(); ++s) std::fill_n(slot(id, static_cast<uint32_t>(s)), n_, words[s]);
  }
  uint32_t shared_at = 0, returned = module.bound();
  for (const Variable& variable : module.variables()) {
    pointees_[variable.id] = &variable;
    if (variable.storage == Storage::Private || variable.storage == Storage::Input)
      make(variable.id, module.type(variable.type).slots);
    if (variable.storage != Storage::Workgroup) continue;
    shared_at_[variable.id] = shared_at;
    shared_at += (module.bytes(variable.type) + 3u) / 4u * 4u;
  }
  for (const auto& [id, function] : module.functions()) {
    returns_[id] = returned;
    make(returned++, module.type_of(id).slots);
    for (const uint32_t parameter : function.parameters) make(parameter, module.type_of(parameter).slots);
    for (const Block& block : function.blocks) {
      for (const Instruction& phi : block.phis) make(phi.result, module.type(phi.type).slots);
      for (const Instruction& i : block.instructions) {
        if (i.result == 0) continue;
        if (i.op != Op::Variable) {
          make(i.result, module.type(i.type).slots);
          continue;
        }
        const uint32_t held = module.type(i.type).element;
        local_.push_back({i.result, held, Storage::Function});
        make(i.result, module.type(held).slots);
      }
    }
  }
  for (const Variable& variable : local_) pointees_[variable.id] = &variable;
}

void Workgroup::wrong(const Instruction& i, const char* what, uint32_t invocation) {
  if (!report_->told.emplace(i.operands.data(), what).second) return;
  report_->wrongs.push_back(report_->where + ": invocation " + std::to_string(invocation) + " of workgroup " +
                            std::to_string(id_[0]) + "," + std::to_string(id_[1]) + "," + std::to_string(id_[2]) + " " +
                            what + " (instruction " + std::to_string(static_cast<uint32_t>(i.op)) + ", %" +
                            std::to_string(i.result) + ")");
}

uint32_t Workgroup::uniform(const Instruction& i, uint32_t value, const Lanes& at, uint32_t index) {
  const Slot values = slot(value, index);
  const uint32_t first = values[at.list[0]];
  each(at, [&](uint32_t l) {
    if (values[l] != first) wrong(i, "has another operand than others, where all must have the same", l);
  });
  return first;
}

void Workgroup::set_built_ins(const std::array<uint32_t, 3>& id) {
  const std::vector<uint32_t>& size = module_.size();
  for (const Variable& variable : module_.variables()) {
    if (variable.storage != Storage::Input) continue;
    for (uint32_t l = 0; l < n_; ++l) {
      const uint32_t local[3] = {l % size[0], l / size[0] % size[1], l / size[0] / size[1]};
      for (uint32_t s = 0; s < module_.type(variable.type).slots; ++s) {
        uint32_t& value = slot(variable.id, s)[l];
        switch (static_cast<BuiltIn>(variable.built_in)) {
          case BuiltIn::NumWorkgroups: value = groups_[s]; break;
          case BuiltIn::WorkgroupId: value = id[s]; break;
          case BuiltIn::LocalInvocationId: value = local[s]; break;
          case BuiltIn::GlobalInvocationId: value = id[s] * size[s] + local[s]; break;
          case BuiltIn::LocalInvocationIndex: value = l; break;
          case BuiltIn::SubgroupSize: value = module_.subgroup(); break;
          case BuiltIn::NumSubgroups: value = static_cast<uint32_t>(phases_.size()); break;
          case BuiltIn::SubgroupId: value = l / module_.subgroup(); break;
          case BuiltIn::SubgroupLocalInvocationId: value = l % module_.subgroup(); break;
          default: throw Unknown("a built-in variable");
        }
      }
    }
  }
}

void Workgroup::run(const std::array<uint32_t, 3>& id) {
  id_ = id;
  steps_ = 0;
  begun_ = shared_now_ = buffers_now_ = ++clock_->now;
  std::fill(phases_.begin(), phases_.end(), uint16_t{0});
  shared_.forget();
  set_built_ins(id);
  if (report_->counts != nullptr) {
    ++report_->counts->workgroups;
    report_->counts->subgroups += phases_.size();
    for (auto& segments : touched_) segments.clear();
  }
  for (const Variable& variable : module_.variables()) {
    if (variable.storage != Storage::Private) continue;
    std::vector<uint32_t>& held = values_[variable.id];
    if (variable.initializer != 0)
      held = values_[variable.initializer];
    else
      std::fill(held.begin(), held.end(), kGarbage);
  }
  Lanes all;
  all.all = true;
  all.list.resize(n_);
  std::iota(all.list.begin(), all.list.end(), uint16_t{0});
  call(module_.main(), std::move(all));
  report_->rounds = std::max(report_->rounds, most_rounds());
}

// The operands of all phis are read before any phi is written.
void Workgroup::enter(const Block& block, const Lanes& at) {
  const auto value_from = [](const Instruction& phi, uint32_t label) {
    size_t pair = 0;
    while (pair < phi.operands.size() && phi.operands[pair + 1] != label) pair += 2;
    if (pair >= phi.operands.size()) throw Unknown("a phi without the block before it");
    return phi.operands[pair];
  };
  const uint32_t label = from_[at.list[0]];
  bool together = true;
  each(at, [&](uint32_t l) { together &= from_[l] == label; });
  size_t slots = 0;
  for (const Instruction& phi : block.phis) slots += module_.type(phi.type).slots;
  taken_.resize(slots * n_);
  Slot next = taken_.data();
  for (const Instruction& phi : block.phis) {
    const uint32_t common = together ? value_from(phi, label) : 0;
    for (uint32_t s = 0; s < module_.type(phi.type).slots; ++s, next += n_) {
      if (together) {
        const Slot from = slot(common, s);
        each(at, [&](uint32_t l) { next[l] = from[l]; });
      } else {
        each(at, [&](uint32_t l) { next[l] = slot(value_from(phi, from_[l]), s)[l]; });
      }
    }
  }
  next = taken_.data();
  for (const Instruction& phi : block.phis)
    for (uint32_t s = 0; s < module_.type(phi.type).slots; ++s, next += n_) {
      const Slot result = slot(phi.result, s);
      each(at, [&](uint32_t l) { result[l] = next[l]; });
    }
}

void Workgroup::count_rounds(const Block& block, uint32_t index, const Lanes& at) {
  Loop& loop = loops_[&block];
  loop.now.resize(n_);
  loop.all.resize(n_);
  each(at, [&](uint32_t l) {
    const bool again = loop.now[l] > 0 && module_.block_of(from_[l]) >= index;
    if (!again && loop.now[l] > 0) {
      loop.least = std::min(loop.least, loop.now[l]);
      loop.most = std::max(loop.most, loop.now[l]);
    }
    loop.now[l] = again ? loop.now[l] + 1 : 1;
    ++loop.all[l];
  });
}

// Iterations of all loops, for the invocation with the most. Loops with a constant small number count as unrolled.
uint64_t Workgroup::most_rounds() {
  constexpr uint32_t kUnrolled = 33;
  std::vector<uint64_t> rounds(n_);
  for (auto& [block, loop] : loops_) {
    for (const uint32_t last : loop.now) {
      if (last == 0) continue;
      loop.least = std::min(loop.least, last);
      loop.most = std::max(loop.most, last);
    }
    if (loop.least == loop.most && loop.most <= kUnrolled) continue;
    for (uint32_t l = 0; l < n_; ++l) rounds[l] += loop.all[l];
  }
  loops_.clear();
  return *std::max_element(rounds.begin(), rounds.end());
}

// The block to which all invocations branch; null if they diverge.
const uint32_t* Workgroup::common_target(const Instruction& last, const Lanes& at) {
  if (last.op == Op::Branch) return &last.operands[0];
  if (last.op != Op::BranchConditional) return nullptr;
  const Slot condition = slot(last.operands[0]);
  uint32_t yes = 0;
  each(at, [&](uint32_t l) { yes += condition[l]; });
  return yes == at.list.size() ? &last.operands[1] : yes == 0 ? &last.operands[2] : nullptr;
}

void Workgroup::call(const Function& function, Lanes start) {
  std::map<uint32_t, std::vector<uint16_t>> waiting;  // by block: the invocations that branch to it
  uint32_t current = 0;
  Lanes at = std::move(start);
  const auto go = [&](const Block& from, uint32_t label, const std::vector<uint16_t>& those) {
    if (those.empty()) return;
    for (const uint16_t l : those) from_[l] = from.label;
    merge(&waiting[module_.block_of(label)], those);
  };
  for (;;) {
    const Block& block = function.blocks[current];
    if (++steps_ > kMostSteps) throw Stopped("a workgroup does not end");
    if (block.loops) count_rounds(block, current, at);
    if (!block.phis.empty()) enter(block, at);
    for (size_t k = 0; k + 1 < block.instructions.size(); ++k) execute(block.instructions[k], at);
    const Instruction& last = block.instructions.back();
    if (const uint32_t* target = common_target(last, at); target != nullptr) {
      const uint32_t next = module_.block_of(*target);
      if (waiting.empty() || next < waiting.begin()->first) {
        each(at, [&](uint32_t l) { from_[l] = block.label; });
        current = next;
        continue;
      }
      go(block, *target, at.list);
    } else {
      part(function, last, at, [&](uint32_t label, const std::vector<uint16_t>& those) { go(block, label, those); });
    }
    if (waiting.empty()) return;
    auto node = waiting.extract(waiting.begin());
    current = node.key();
    at.list = std::move(node.mapped());
    at.all = at.list.size() == n_;
  }
}

template <class Go>
void Workgroup::part(const Function& function, const Instruction& last, const Lanes& at, const Go& go) {
  switch (last.op) {
    case Op::BranchConditional: {
      std::vector<uint16_t> yes, no;
      const Slot condition = slot(last.operands[0]);
      for (const uint16_t l : at.list) (condition[l] != 0 ? yes : no).push_back(l);
      go(last.operands[1], yes);
      go(last.operands[2], no);
      return;
    }
    case Op::Switch: {
      std::map<uint32_t, std::vector<uint16_t>> by_label;
      const Slot selector = slot(last.operands[0]);
      for (const uint16_t l : at.list) {
        uint32_t label = last.operands[1];
        for (size_t k = 2; k + 1 < last.operands.size(); k += 2)
          if (last.operands[k] == selector[l]) label = last.operands[k + 1];
        by_label[label].push_back(l);
      }
      for (const auto& [label, those] : by_label) go(label, those);
      return;
    }
    case Op::ReturnValue:
      for (uint32_t s = 0; s < module_.type_of(function.id).slots; ++s)
        each(at, [&](uint32_t l) { slot(returns_[function.id], s)[l] = slot(last.operands[0], s)[l]; });
      return;
    case Op::Return: return;
    default: throw Unknown("a block that ends with " + std::to_string(static_cast<uint32_t>(last.op)));
  }
}

// Values of a called function have their own slots, since no function is recursive.
void Workgroup::do_call(const Instruction& i, const Lanes& at) {
  const Function& function = module_.function(i.operands[0]);
  for (size_t p = 0; p < function.parameters.size(); ++p) {
    const uint32_t to = function.parameters[p], from = i.operands[p + 1];
    const bool is_base = pointees_[from] != nullptr && pointees_[from]->id == from;
    pointees_[to] = pointees_[from];
    for (uint32_t s = 0; s < module_.type_of(to).slots; ++s)
      each(at, [&](uint32_t l) { slot(to, s)[l] = is_base ? 0 : slot(from, s)[l]; });
  }
  call(function, at);
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
    each(at, [&](uint32_t l) { slot(i.result, s)[l] = slot(returns_[function.id], s)[l]; });
}

void Workgroup::execute(const Instruction& i, const Lanes& at) {
  perform(i, at);
  if (report_->counts != nullptr) count_arithmetic(i, at);
}

void Workgroup::perform(const Instruction& i, const Lanes& at) {
  if (i.op == Op::ExtInst) return do_glsl(i, at);
  if (i.op == Op::FunctionCall) return do_call(i, at);
  if (do_arithmetic(i, at) || do_access(i, at) || do_floats(i, at) || do_composite(i, at) || do_conversion(i, at) ||
      do_matrix(i, at) || do_group(i, at) || do_cooperative(i, at))
    return;
  throw Unknown("instruction " + std::to_string(static_cast<uint32_t>(i.op)));
}

}  // namespace heed::interpreter
