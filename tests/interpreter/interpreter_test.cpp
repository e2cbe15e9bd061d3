// Results and reports of the interpreter, for kernels of a few instructions.
#include "interpreter/interpreter.hpp"

#include <cmath>
#include <deque>

#include "harness/catch.hpp"

namespace heed::interpreter {
namespace {

// A kernel of 64 invocations with buffers of words at bindings 0 and 1, and 64 shared words. Tests write only the body.
class Kernel {
 public:
  Kernel() {
    words_ = {0x07230203, 0x00010300, 0, 200, 0};
    add(Op::Capability, {1});                                        // Shader
    add(Op::MemoryModel, {0, 1});                                    // logical addresses, GLSL450
    add(Op::EntryPoint, {5, kMain, 0x6e69616d, 0, kLocalVariable});  // "main"
    add(Op::ExecutionMode, {kMain, 17, kSize, 1, 1});                // LocalSize
    add(Op::Decorate, {kLocalVariable, 11, 27});                     // LocalInvocationId
    add(Op::Decorate, {kWordsType, 6, 4});                           // ArrayStride
    add(Op::Decorate, {kBlock, 2});                                  // Block
    add(Op::MemberDecorate, {kBlock, 0, 35, 0});                     // Offset
    add(Op::Decorate, {kBuffer, 34, 0});                             // DescriptorSet
    add(Op::Decorate, {kBuffer, 33, 0});                             // Binding
    add(Op::Decorate, {kOther, 34, 0});
    add(Op::Decorate, {kOther, 33, 1});
    add(Op::TypeVoid, {kVoid});
    add(Op::TypeFunction, {kFunctionType, kVoid});
    add(Op::TypeBool, {kBool});
    add(Op::TypeInt, {kUint, 32, 0});
    add(Op::TypeFloat, {kFloat, 32});
    add(Op::TypeVector, {kUint3, kUint, 3});
    for (uint32_t n = 0; n < 8; ++n) add(Op::Constant, {kUint, kZero + n, n});
    add(Op::Constant, {kUint, kCount, kSize});
    add(Op::Constant, {kUint, kSharedOrder, 264});
    add(Op::TypeArray, {kSharedType, kUint, kCount});
    add(Op::TypeRuntimeArray, {kWordsType, kUint});
    add(Op::TypeStruct, {kBlock, kWordsType});
    add(Op::TypePointer, {kLocalPointer, 1, kUint3});
    add(Op::TypePointer, {kBufferPointer, 12, kBlock});
    add(Op::TypePointer, {kWordPointer, 12, kUint});
    add(Op::TypePointer, {kSharedPointer, 4, kSharedType});
    add(Op::TypePointer, {kSharedWordPointer, 4, kUint});
    add(Op::Variable, {kLocalPointer, kLocalVariable, 1});
    add(Op::Variable, {kBufferPointer, kBuffer, 12});
    add(Op::Variable, {kBufferPointer, kOther, 12});
    add(Op::Variable, {kSharedPointer, kShared, 4});
    add(Op::Function, {kVoid, kMain, 0, kFunctionType});
    add(Op::Label, {next()});
    add(Op::Load, {kUint3, last_ + 1, kLocalVariable}), next();
    local = value(Op::CompositeExtract, kUint, {last_, 0});
  }

  bool regroups = false;                                   // see Module::Parts
  uint32_t local = 0;                                      // x of LocalInvocationId
  uint32_t number(uint32_t n) const { return kZero + n; }  // below 8

  uint32_t add_up(uint32_t a, uint32_t b) { return value(Op::IAdd, kUint, {a, b}); }
  uint32_t times(uint32_t a, uint32_t b) { return value(Op::IMul, kUint, {a, b}); }
  uint32_t either(uint32_t a, uint32_t b) { return value(Op::BitwiseXor, kUint, {a, b}); }  // xor
  // a op b on f32 bits. `exact`: with NoContraction.
  uint32_t calculated(Op op, uint32_t a, uint32_t b, bool exact = false) {
    const uint32_t result = value(op, kFloat, {a, b});
    if (exact) add(Op::Decorate, {result, 42});
    return result;
  }
  uint32_t as_number(uint32_t a) { return value(Op::Bitcast, kFloat, {a}); }
  uint32_t as_word(uint32_t a) { return value(Op::Bitcast, kUint, {a}); }
  uint32_t is_below(uint32_t a, uint32_t b) { return value(Op::ULessThan, kBool, {a, b}); }
  uint32_t shuffled(uint32_t a, uint32_t from) {
    return value(Op::GroupNonUniformShuffle, kUint, {number(3), a, from});
  }
  uint32_t shared(uint32_t at) {
    return value(Op::Load, kUint, {value(Op::AccessChain, kSharedWordPointer, {kShared, at})});
  }
  uint32_t word(uint32_t at) { return loaded(kBuffer, at); }
  uint32_t word_of_other(uint32_t at) { return loaded(kOther, at); }
  void set_shared(uint32_t at, uint32_t to) {
    add(Op::Store, {value(Op::AccessChain, kSharedWordPointer, {kShared, at}), to});
  }
  void set_word(uint32_t at, uint32_t to) {
    add(Op::Store, {value(Op::AccessChain, kWordPointer, {kBuffer, kZero, at}), to});
  }
  void barrier() { add(Op::ControlBarrier, {number(2), number(2), kSharedOrder}); }
  void subgroup_barrier() { add(Op::ControlBarrier, {number(3), number(3), kSharedOrder}); }
  template <class Body>
  void if_true(uint32_t condition, const Body& body) {
    const uint32_t then = next(), end = next();
    add(Op::SelectionMerge, {end, 0});
    add(Op::BranchConditional, {condition, then, end});
    add(Op::Label, {then});
    body();
    add(Op::Branch, {end});
    add(Op::Label, {end});
  }
  void for_ever() {
    const uint32_t head = next(), again = next(), end = next();
    add(Op::Branch, {head});
    add(Op::Label, {head});
    add(Op::LoopMerge, {end, again, 0});
    add(Op::Branch, {again});
    add(Op::Label, {again});
    add(Op::Branch, {head});
    add(Op::Label, {end});
  }

  // Returns the report, or an empty string. The buffer has as many words as `words`; `written` says whether they count as written.
  std::string run(std::vector<uint32_t>* words, uint32_t groups = 1, uint32_t subgroup = 16, bool written = true) {
    Memory memory(words->size() * 4, true);
    std::memcpy(memory.data(), words->data(), words->size() * 4);
    const Binding binding = {&memory, 0, words->size() * 4, written};
    Report report;
    run({&binding, 1}, groups, subgroup, &report);
    std::memcpy(words->data(), memory.data(), words->size() * 4);
    std::string all;
    for (const std::string& wrong : report.wrongs) all += wrong + "\n";
    return all;
  }
  void run(std::span<const Binding> bindings, uint32_t groups, uint32_t subgroup, Report* report) const {
    std::vector<uint32_t> whole = words_;
    const auto finish = [&](Op op) { whole.push_back(1u << 16 | static_cast<uint32_t>(op)); };
    finish(Op::Return), finish(Op::FunctionEnd);
    Interpreter interpreter;
    interpreter.run(
        {.words = whole, .subgroup = subgroup, .regroups = regroups, .bindings = bindings, .groups = {groups, 1, 1}},
        report);
  }
  std::string run() {
    std::vector<uint32_t> words(64);
    return run(&words);
  }

 private:
  // Ids. Seven more constants follow kZero.
  static constexpr uint32_t kMain = 1, kVoid = 2, kFunctionType = 3, kBool = 4, kUint = 5, kUint3 = 6, kCount = 7,
                            kSharedOrder = 8, kSharedType = 9, kWordsType = 10, kBlock = 11, kLocalPointer = 12,
                            kBufferPointer = 13, kWordPointer = 14, kSharedPointer = 15, kSharedWordPointer = 16,
                            kLocalVariable = 17, kBuffer = 18, kShared = 19, kOther = 20, kFloat = 21, kZero = 30,
                            kFirst = 40;
  static constexpr uint32_t kSize = 64;

  uint32_t next() { return ++last_; }
  void add(Op op, std::vector<uint32_t> operands) {
    words_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
    words_.insert(words_.end(), operands.begin(), operands.end());
  }
  uint32_t loaded(uint32_t buffer, uint32_t at) {
    return value(Op::Load, kUint, {value(Op::AccessChain, kWordPointer, {buffer, kZero, at})});
  }
  uint32_t value(Op op, uint32_t type, std::vector<uint32_t> operands) {
    const uint32_t id = next();
    operands.insert(operands.begin(), {type, id});
    add(op, std::move(operands));
    return id;
  }

  std::vector<uint32_t> words_;
  uint32_t last_ = kFirst;
};

bool says(const std::string& all, const char* text) {
  INFO(all);
  return all.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("interpreter: neighbours exchange words, with a barrier between", "[interpreter]") {
  for (const bool with_barrier : {true, false}) {
    Kernel kernel;
    kernel.set_shared(kernel.local, kernel.times(kernel.local, kernel.number(3)));
    if (with_barrier) kernel.barrier();
    kernel.set_word(kernel.local, kernel.shared(kernel.either(kernel.local, kernel.number(1))));
    std::vector<uint32_t> words(64);
    const std::string wrong = kernel.run(&words);
    CHECK(says(wrong, "reads what another invocation has written since the last barrier") == !with_barrier);
    CHECK(wrong.empty() == with_barrier);
    if (with_barrier)
      for (uint32_t i = 0; i < 64; ++i) CHECK(words[i] == 3 * (i ^ 1));
  }
}

TEST_CASE("interpreter: a barrier of subgroups orders a subgroup, and not others", "[interpreter]") {
  // Neighbours are in one subgroup. With subgroups of 4, invocations 4 apart are not.
  for (const uint32_t apart : {1u, 4u}) {
    Kernel kernel;
    kernel.set_shared(kernel.local, kernel.local);
    kernel.subgroup_barrier();
    kernel.set_word(kernel.local, kernel.shared(kernel.either(kernel.local, kernel.number(apart))));
    std::vector<uint32_t> words(64);
    CHECK(kernel.run(&words, 1, 4).empty() == (apart == 1));
    CHECK(kernel.run(&words, 1, 16).empty());
  }
}

TEST_CASE("interpreter: writing again what others still read is noticed", "[interpreter]") {
  for (const bool with_barrier : {true, false}) {
    Kernel kernel;
    kernel.set_shared(kernel.local, kernel.local);
    kernel.barrier();
    const uint32_t taken = kernel.shared(kernel.either(kernel.local, kernel.number(1)));
    if (with_barrier) kernel.barrier();
    kernel.set_shared(kernel.local, taken);
    CHECK(says(kernel.run(), "writes what another invocation has read since the last barrier") == !with_barrier);
  }
}

TEST_CASE("interpreter: what nobody has written must not be read", "[interpreter]") {
  Kernel kernel;
  kernel.if_true(kernel.is_below(kernel.local, kernel.number(5)),
                 [&] { kernel.set_shared(kernel.local, kernel.local); });
  kernel.set_word(kernel.local, kernel.shared(kernel.local));
  CHECK(says(kernel.run(), "invocation 5 of workgroup 0,0,0 reads what nobody has written"));
}

TEST_CASE("interpreter: a barrier that not all come to", "[interpreter]") {
  Kernel kernel;
  kernel.if_true(kernel.is_below(kernel.local, kernel.number(5)), [&] { kernel.barrier(); });
  CHECK(says(kernel.run(), "comes to a barrier without others"));
}

TEST_CASE("interpreter: the value of an invocation that is elsewhere", "[interpreter]") {
  for (const uint32_t from : {2u, 6u}) {
    Kernel kernel;
    kernel.if_true(kernel.is_below(kernel.local, kernel.number(5)),
                   [&] { kernel.set_word(kernel.local, kernel.shuffled(kernel.local, kernel.number(from))); });
    std::vector<uint32_t> words(64);
    CHECK(says(kernel.run(&words), "takes the value of an invocation that is not here") == (from == 6));
    if (from == 2) CHECK(words[4] == 2);
  }
}

TEST_CASE("interpreter: workgroups that touch the same words", "[interpreter]") {
  Kernel writes, reads;
  writes.set_word(writes.local, writes.local);
  reads.set_word(reads.local, reads.word(reads.either(reads.local, reads.number(1))));
  std::vector<uint32_t> words(64);
  CHECK(writes.run(&words, 1).empty());
  CHECK(says(writes.run(&words, 2), "writes what another workgroup has written"));
  CHECK(says(reads.run(&words, 2), "reads what another workgroup has written"));
  CHECK_FALSE(reads.run(&words, 1).empty());
}

TEST_CASE("interpreter: accesses outside of what is bound, and to what is only read", "[interpreter]") {
  Kernel kernel;
  kernel.set_word(kernel.add_up(kernel.local, kernel.number(1)), kernel.local);
  std::vector<uint32_t> words(65);
  CHECK(kernel.run(&words).empty());
  CHECK(words[64] == 63);
  words.resize(64);
  CHECK(says(kernel.run(&words), "invocation 63 of workgroup 0,0,0 leaves what is bound"));
  words.resize(65);
  CHECK(says(kernel.run(&words, 1, 16, false), "writes a buffer that the dispatch is not said to write"));
  Kernel shared;
  shared.set_shared(shared.add_up(shared.local, shared.number(1)), shared.local);
  CHECK(says(shared.run(), "leaves a shared variable"));
}

TEST_CASE("interpreter: segments of two buffers never count as one", "[interpreter]") {
  Kernel kernel;
  kernel.set_word(kernel.local, kernel.word_of_other(kernel.local));
  constexpr uint64_t kBytes = 64 * 4;
  // These objects are whole segments apart, whatever their addresses. Those begin at any multiple of 16.
  struct alignas(kSegments[2]) Buffer {
    explicit Buffer(uint64_t bytes) : memory(bytes, true, false) {}
    Memory memory;
  };
  std::deque<Buffer> buffers;
  for (uint64_t i = 0; i < 16; ++i) buffers.emplace_back(2 * kBytes + 16 * i);
  // A binding may begin within a segment, and end in one more.
  for (const uint64_t offset : {0, 4, 100, 128})
    for (size_t i = 0; i + 1 < buffers.size(); ++i) {
      const Binding bindings[] = {{&buffers[i].memory, offset, kBytes, true},
                                  {&buffers[i + 1].memory, 0, kBytes, false}};
      Counts counts;
      Report report;
      report.counts = &counts;
      kernel.run(bindings, 1, 16, &report);
      CHECK(report.wrongs.empty());
      for (size_t s = 0; s < kSegments.size(); ++s) {
        INFO(offset << " " << i << " " << kSegments[s]);
        CHECK(counts.touched[s] == 2 * kBytes / kSegments[s] + (offset % kSegments[s] != 0 ? 1 : 0));
      }
    }
}

// (a op b) op c, with a from the invocation's word, and b and c from the last one.
float result_of(Op op, float a, float b, bool regroups, bool exact) {
  Kernel kernel;
  kernel.regroups = regroups;
  std::vector<uint32_t> words(65, as_bits(a));
  words[64] = as_bits(b);
  const uint32_t last = kernel.times(kernel.add_up(kernel.number(7), kernel.number(1)),
                                     kernel.add_up(kernel.number(7), kernel.number(1)));
  const uint32_t x = kernel.as_number(kernel.word(kernel.local)), y = kernel.as_number(kernel.word(last));
  const uint32_t inner = kernel.calculated(op == Op::FSub ? Op::FAdd : op, x, y, exact);
  kernel.set_word(kernel.local, kernel.as_word(kernel.calculated(op, inner, y)));
  CHECK(kernel.run(&words).empty());
  return as_float(words[0]);
}

TEST_CASE("interpreter: products and sums are regrouped where a driver may, and nowhere else", "[interpreter]") {
  for (const bool regroups : {true, false})
    for (const bool exact : {true, false}) {
      INFO(regroups << " " << exact);
      const bool taken_apart = regroups && !exact;
      const auto result = [&](Op op, float a, float b) { return result_of(op, a, b, regroups, exact); };
      CHECK(std::isnan(result(Op::FMul, 0.0f, 1e20f)) == taken_apart);
      CHECK((result(Op::FMul, 1e38f, 1e-20f) == 0.0f) == taken_apart);
      CHECK((result(Op::FAdd, 16777216.0f, 1.0f) == 16777218.0f) == taken_apart);
      CHECK((result(Op::FSub, 1.0f, 16777216.0f) == 1.0f) == taken_apart);
    }
}

TEST_CASE("interpreter: a kernel without an end is stopped, and what is unknown refused", "[interpreter]") {
  Kernel endless;
  endless.for_ever();
  CHECK_THROWS_AS(endless.run(), Stopped);
  Interpreter interpreter;
  Report report;
  const std::vector<uint32_t> none = {1, 2, 3};
  CHECK_THROWS_AS(interpreter.run({.words = none}, &report), Unknown);
}

}  // namespace heed::interpreter
