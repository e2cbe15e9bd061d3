#include "interpreter/memory.hpp"

#include <algorithm>

namespace heed::interpreter {
namespace {

constexpr uint32_t kByHost = 1;  // a kernel's intervals begin after it

}  // namespace

Memory::Memory(uint64_t bytes, bool written, bool checked) : data_(bytes), marks_(checked ? (bytes + 1) / 2 : 0) {
  if (!checked) return;
  // Unwritten memory has a value that is neither 0 nor a small number.
  std::fill(data_.begin(), data_.end(), std::byte{0xfd});
  if (written) mark_written(0, bytes);
}

void Memory::forget() { std::fill(marks_.begin(), marks_.end(), Mark{}); }

void Memory::mark_written(uint64_t offset, uint64_t bytes) {
  if (marks_.empty()) return;
  for (uint64_t i = offset / 2; i < (offset + bytes + 1) / 2; ++i) {
    marks_[i] = {};
    marks_[i].write = kByHost;
  }
}

const char* Memory::check_read(Mark& mark, const Access& by) {
  if (mark.write == 0) return "reads what nobody has written";
  const char* wrong = nullptr;
  if (mark.write >= by.dispatch && !(by.atomic && mark.writer == kAtomic)) {
    if (mark.write < by.workgroup)
      wrong = "reads what another workgroup has written";
    else if (mark.write == by.interval && mark.writer != by.invocation &&
             !ordered(mark.write_subgroup, mark.write_phase, by))
      wrong = "reads what another invocation has written since the last barrier";
  }
  if (mark.read >= by.dispatch && mark.read < by.workgroup) mark.shared_read = by.dispatch;
  // An earlier read before a barrier of the same subgroup need not be recorded: this read replaces it for all others.
  const bool first = mark.read != by.interval || ordered(mark.read_subgroup, mark.read_phase, by);
  mark.reader = first || mark.reader == by.invocation ? by.invocation : kMany;
  mark.read_subgroup = first || mark.read_subgroup == by.subgroup ? by.subgroup : kMany;
  mark.read_phase = by.phase;
  mark.read = by.interval;
  return wrong;
}

const char* Memory::check_write(Mark& mark, const Access& by) {
  const char* wrong = by.atomic && !by.clears && mark.write == 0 ? "reads what nobody has written" : nullptr;
  const bool both_atomic = by.atomic && mark.writer == kAtomic;
  if (mark.write >= by.dispatch && !both_atomic) {
    if (mark.write < by.workgroup)
      wrong = "writes what another workgroup has written";
    else if (mark.write == by.interval && mark.writer != by.invocation &&
             !ordered(mark.write_subgroup, mark.write_phase, by))
      wrong = "writes what another invocation has written since the last barrier";
  }
  if (mark.shared_read == by.dispatch || (mark.read >= by.dispatch && mark.read < by.workgroup))
    wrong = "writes what another workgroup has read";
  else if (mark.read == by.interval && mark.reader != by.invocation &&
           !ordered(mark.read_subgroup, mark.read_phase, by))
    wrong = "writes what another invocation has read since the last barrier";
  mark.write = by.interval;
  mark.writer = by.atomic ? kAtomic : by.invocation;
  mark.write_subgroup = by.subgroup;
  mark.write_phase = by.phase;
  return wrong;
}

const char* Memory::read(uint64_t offset, uint32_t bytes, const Access& by) {
  const char* wrong = nullptr;
  if (marks_.empty()) return wrong;
  for (uint64_t i = offset / 2; i < (offset + bytes + 1) / 2; ++i)
    if (const char* here = check_read(marks_[i], by)) wrong = here;
  return wrong;
}

const char* Memory::write(uint64_t offset, uint32_t bytes, const Access& by) {
  const char* wrong = nullptr;
  if (marks_.empty()) return wrong;
  for (uint64_t i = offset / 2; i < (offset + bytes + 1) / 2; ++i)
    if (const char* here = check_write(marks_[i], by)) wrong = here;
  return wrong;
}

}  // namespace heed::interpreter
