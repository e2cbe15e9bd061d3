// choices.csv lists the kernels that heed chooses for passes of many sizes on many devices. A change of a cost or of a rule shows as a
// difference there, and is committed with it.
//
//   HEED_WRITE_CHOICES=FILE   writes the table again instead of comparing
#include <fstream>
#include <sstream>

#include "base/logging.hpp"
#include "harness/source_path.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

struct Machine {
  const char* name;
  Capabilities device;
};

std::vector<Machine> machines() {
  Capabilities gpu;
  gpu.max_invocations = 1024;
  gpu.max_workgroup_size = {1024, 1024, 64};
  gpu.shared_bytes = 49152;
  gpu.subgroup_size = 32;
  gpu.storage_16bit = gpu.subgroup_arithmetic = gpu.subgroup_ballot = gpu.subgroup_shuffle = true;
  gpu.integer_dots = true;
  Capabilities large = gpu;
  large.cores = 132;
  large.matrix = large.bfloat_matrix = {16, 16, 16};
  large.matrix_subgroup = 32;
  Capabilities intel = gpu;
  intel.cores = 8;
  intel.shared_bytes = 65536;
  intel.matrix = {8, 16, 16};
  intel.byte_matrix = {8, 16, 32};
  intel.matrix_subgroup = 32;
  intel.registers = 128;
  Capabilities always = large;
  always.matrix_always = true;
  Capabilities lavapipe = gpu;
  lavapipe.shared_bytes = 32768;
  lavapipe.subgroup_size = 8;
  lavapipe.cores = 4;
  lavapipe.registers = kRegistersInMemory;
  Capabilities swiftshader = lavapipe;
  swiftshader.subgroup_size = 4;
  swiftshader.slow_shuffle = true;
  return {{"floor", {}},
          {"gpu", gpu},
          {"units", large},
          {"intel", intel},
          {"always", always},
          {"lavapipe", lavapipe},
          {"swiftshader", swiftshader}};
}

// The kernel of a run and its tile, and "/n" if a run has n dispatches.
std::string chosen(const KernelList& kernels, const DispatchList& list) {
  const KernelKey& key = kernels.uses[list.dispatches[0].kernel].key;
  std::string name = variant_name(key);
  if (name == kernel_name(key)) name += format(" %ux%u", key.spec[0], key.spec[1]);
  return list.count == 1 ? name : name + format(" /%u", list.count);
}

class Table {
 public:
  // Writes a line: the kernels chosen while `extent` takes all `sizes`, and the number of kernels in the plan.
  void line(const Machine& machine, const std::string& what, const Graph& graph, Op op, const char* extent,
            const std::vector<int64_t>& sizes, const CompileOptions& options = {}) {
    Lowered lowered(graph, false, machine.device);
    lowered.schedule.asked.round_rows = options.round_rows;
    lowered.schedule.asked.emulate_f32 = options.emulate_f32;
    lowered.device.max_storage_range = UINT32_MAX;
    const Node& pass = lowered.pass(op);
    const KernelList kernels = lowered.selected(pass);
    DispatchList list;
    std::string line = format("%s; %s; ", machine.name, what.c_str()), last;
    for (const int64_t size : sizes) {
      if (extent != nullptr) lowered.set_extent(extent, size);
      emit_dispatches(lowered.schedule, pass, lowered.device, kernels, lowered.values(), &list);
      const std::string now = chosen(kernels, list);
      if (now != last) line += (last.empty() ? "" : ", ") + format("%lld: ", static_cast<long long>(size)) + now;
      last = now;
    }
    lines_ << line << "; " << kernels.count << " kernels\n";
    kept_ += kernels.count;
  }

  std::string text() const { return lines_.str(); }
  uint32_t kept() const { return kept_; }

 private:
  std::ostringstream lines_;
  uint32_t kept_ = 0;  // kernels of all plans
};

// x [m, k] times a weight [n, k], or [k, n].
struct Product {
  DType dtype;
  int64_t n, k;
  bool transpose_b;

  Graph graph(int64_t m, bool varies) const {
    Graph g;
    const Dim rows = varies ? g.extent("m", m) : Dim(m);
    g.output("y",
             g.matmul(g.input("x", {rows, k}, is_quantized(dtype) ? DType::F32 : dtype),
                      g.weight("w", transpose_b ? Shape{n, k} : Shape{k, n}, dtype), {.transpose_b = transpose_b}));
    return g;
  }
  std::string name(const char* rows) const {
    return format("matmul %s %s n %lld k %lld%s", to_string(dtype), rows, static_cast<long long>(n),
                  static_cast<long long>(k), transpose_b ? " b^T" : "");
  }
};

const std::vector<int64_t> kRows = {1,  2,  3,  4,   5,   7,   8,   9,   12,  15,  16,  17,  24,   31,   32,   33,  48,
                                    63, 64, 65, 100, 128, 129, 200, 256, 257, 384, 512, 768, 1000, 1024, 2048, 4096};

void add_products(const Machine& machine, Table* table) {
  for (const DType dtype : {DType::F32, DType::F16}) {
    if (dtype != DType::F32 && !machine.device.storage_16bit) continue;
    for (const bool transposed : {true, false})
      for (const int64_t n : {63, 768, 4096})
        for (const int64_t k : {64, 1024, 4096}) {
          const Product product = {dtype, n, k, transposed};
          table->line(machine, product.name("up to 4096"), product.graph(4096, true), Op::Matmul, "m", kRows);
          if (n != 768 || !transposed) continue;
          for (const int64_t m : {1, 8, 40, 512})
            table->line(machine, product.name(std::to_string(m).c_str()), product.graph(m, false), Op::Matmul, nullptr,
                        {m});
        }
  }
}

void add_quantized(const Machine& machine, Table* table) {
  const std::pair<const char*, CompileOptions> ways[] = {
      {"up to 4096", {}}, {"up to 4096 rounded", {.round_rows = true}}, {"up to 4096 emulated", {.emulate_f32 = true}}};
  for (const auto& [name, options] : ways)
    for (const int64_t n : {63, 4096}) {
      const Product product = {DType::Q8_0, n, 1024, true};
      table->line(machine, product.name(name), product.graph(4096, true), Op::Matmul, "m", kRows, options);
    }
}

void add_attentions(const Machine& machine, Table* table) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    if (dtype != DType::F32 && !machine.device.storage_16bit) continue;
    if (dtype == DType::BF16 && machine.device.bfloat_matrix.m == 0) continue;  // covered by f16
    for (const int64_t head : {32, 64, 256})
      for (const int64_t keys : {70, 4096})
        for (const int64_t queries : {0, 1, 40}) {
          Graph g;
          const Dim rows = queries == 0 ? g.extent("q", 1024) : Dim(queries);
          const auto input = [&](const char* name, Dim tokens) { return g.input(name, {1, 8, tokens, head}, dtype); };
          g.output("y", g.attention(input("x", rows), input("k", keys), input("v", keys)).output);
          const std::string name =
              format("attention %s head %lld keys %lld queries %lld", to_string(dtype), static_cast<long long>(head),
                     static_cast<long long>(keys), static_cast<long long>(queries));
          table->line(machine, name, g, Op::Attention, queries == 0 ? "q" : nullptr,
                      {1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 200, 256, 300, 513, 1024});
        }
  }
}

void add_rows(const Machine& machine, Table* table) {
  const std::pair<const char*, std::function<Tensor(Graph&, Tensor)>> operations[] = {
      {"softmax", [](Graph& g, Tensor x) { return g.softmax(x); }},
      {"argmax", [](Graph& g, Tensor x) { return g.argmax(x); }}};
  for (const auto& [name, apply] : operations)
    for (const int64_t longest : {20, 256, 1000, 8192})
      for (const bool varies : {true, false}) {
        Graph g;
        const Dim n = varies ? g.extent("n", longest) : Dim(longest);
        g.output("y", apply(g, g.input("x", {40, n})));
        std::vector<int64_t> lengths;
        for (const int64_t length :
             {1, 20, 32, 33, 64, 100, 128, 200, 256, 257, 300, 512, 700, 1024, 1500, 2048, 4096, 5000, 8192})
          if (length <= longest) lengths.push_back(length);
        table->line(machine, format("%s %s%lld", name, varies ? "up to " : "", static_cast<long long>(longest)), g,
                    *name == 's' ? Op::Softmax : Op::Argmax, varies ? "n" : nullptr, lengths);
      }
}

std::multiset<std::string> lines_of(std::istream& stream) {
  std::multiset<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

}  // namespace

TEST_CASE("the kernels chosen are those of the table", "[kernels]") {
  Table table;
  for (const Machine& machine : machines()) {
    add_products(machine, &table);
    add_quantized(machine, &table);
    add_attentions(machine, &table);
    add_rows(machine, &table);
  }
  std::printf("kernels that the plans of choices.csv keep: %u\n", table.kept());
  if (const char* path = std::getenv("HEED_WRITE_CHOICES"); path != nullptr) {
    std::ofstream(path) << table.text();
    return;
  }
  std::ifstream file(test::source_path("tests/kernels/choices.csv"));
  std::istringstream text(table.text());
  const std::multiset<std::string> expected = lines_of(file), found = lines_of(text);
  REQUIRE(expected.size() == found.size());
  for (const std::string& line : found)
    if (expected.count(line) == 0) FAIL_CHECK("not in the table: " << line);
}

}  // namespace heed::kernel_tests
