// The gradient of attention's bias: the slopes of all logits, summed over the axes along which the bias is broadcast.
#include <algorithm>

#include "cpu/attention/attention_backward.hpp"

namespace heed::cpu::backward {
namespace {

// A range of an axis of the scores.
struct Along {
  int64_t begin, end;
};

// The number of parts into which an axis is divided, or one if it is summed.
struct Axis {
  int64_t size, block;
  bool summed;

  int64_t parts() const { return summed ? 1 : ceil_div(size, block); }
  Along part(int64_t i) const { return summed ? Along{0, size} : Along{i * block, std::min(size, (i + 1) * block)}; }
};

// Adds the slopes of one head to sums [query][key of a group].
void add_head(const BackwardProblem& problem, int64_t batch, int64_t head, Along queries, Along panels,
              bool sums_queries, float* memory) {
  const int64_t cols = problem.cols, pitch = kKeyPanels * cols,
                key_head = batch * problem.key_heads + head / problem.group;
  float* const sums = memory + problem.layout.bias_sums;
  problem.pack_all({key_head, panels.begin, panels.end, 0, 0, false, false}, memory);
  for (int64_t first = queries.begin; first < queries.end; first += kBlockQueries) {
    const BackwardProblem::Block block =
        problem.load_block(batch, head, first, std::min(kBlockQueries, queries.end - first), memory);
    for (int64_t from = panels.begin; from < panels.end; from += kKeyPanels) {
      const auto some = problem.weigh_group(block, from, std::min(from + kKeyPanels, panels.end), 1.0f, memory);
      for (int64_t n = some.begin; n < some.end; ++n)
        for (int64_t i = problem.first_to_see(block.row, block.count, n); i < block.count; ++i) {
          float* const to = sums + (sums_queries ? 0 : i) * pitch + (n - from) * cols;
          problem.kernels.add(to, problem.of_panel(memory, problem.layout.slopes, some, n) + i * cols, to, cols);
        }
    }
  }
}

}  // namespace

void run_bias(const Pass& pass, const BackwardProblem& problem) {
  const Operand& out = problem.of_bias;
  const int64_t cols = problem.cols, pitch = kKeyPanels * cols;
  const auto axis = [&](int number, int64_t size, int64_t block) {
    return Axis{size, block, out.view.stride[number] == 0 && problem.masking.logits.dim[number] > 1};
  };
  const Axis batches = axis(0, problem.query.view.dim[0], 1), heads = axis(1, problem.heads, 1),
             queries = axis(2, problem.queries, kBlockQueries), keys = axis(3, problem.panels, kKeyPanels);
  const int64_t items = batches.parts() * heads.parts() * queries.parts() * keys.parts();
  pass.parallel(items, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    float* const memory = pass.scratch<float>(worker);
    float* const sums = memory + problem.layout.bias_sums;
    for (int64_t item = begin; item < end; ++item) {
      int64_t rest = item;
      const auto next = [&rest](const Axis& of) {
        const int64_t number = rest % of.parts();
        rest /= of.parts();
        return of.part(number);
      };
      const Along panels = next(keys), rows = next(queries), own_heads = next(heads), own_batches = next(batches);
      std::fill_n(sums, kBlockQueries * pitch, 0.0f);
      for (int64_t b = own_batches.begin; b < own_batches.end; ++b)
        for (int64_t h = own_heads.begin; h < own_heads.end; ++h)
          add_head(problem, b, h, rows, panels, queries.summed, memory);
      const int64_t first = keys.summed ? 0 : panels.begin * cols;
      const int64_t n = keys.summed ? 1 : std::min(problem.keys, panels.end * cols) - first;
      for (int64_t i = rows.begin; i < (queries.summed ? rows.begin + 1 : rows.end); ++i) {
        float* const row = sums + (i - rows.begin) * pitch;
        if (keys.summed) {
          double sum = 0.0;
          for (int64_t j = 0; j < pitch; ++j) sum += static_cast<double>(row[j]);
          row[0] = static_cast<float>(sum);
        }
        const int64_t* const stride = out.view.stride;
        store(out, own_batches.begin * stride[0] + own_heads.begin * stride[1] + i * stride[2] + first * stride[3],
              stride[3], n, row);
      }
    }
  });
}

}  // namespace heed::cpu::backward
