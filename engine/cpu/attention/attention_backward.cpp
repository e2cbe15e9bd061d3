// Divides the gradients of attention into parallel work; see attention_backward.hpp.
#include "cpu/attention/attention_backward.hpp"

#include <algorithm>

namespace heed::cpu {

using backward::BackwardProblem, backward::BackwardScratch, backward::BackwardTask, backward::kBlockQueries,
    backward::kKeyPanels;

ScratchNeed attention_backward_scratch(const ScratchQuery& query) {
  const View key = query.view(query.node.inputs[in::kKey]), value = query.view(query.node.inputs[in::kValue]);
  const int64_t cols = query.kernels.matmul->cols;
  const BackwardScratch layout(cols, ceil_div(key.dim[2], cols), key.dim[3], value.dim[3]);
  return {.shared = 0, .per_worker = static_cast<uint64_t>(layout.size) * sizeof(float)};
}

void run_attention_backward(const Pass& pass) {
  const BackwardProblem problem(pass);
  const bool of_query = problem.of_query.valid(), of_keys = problem.of_key.valid() || problem.of_value.valid();
  if (problem.of_bias.valid()) run_bias(pass, problem);
  if (!of_query && !of_keys) return;
  const int64_t heads = problem.key.view.dim[0] * problem.key_heads;
  const auto run = [&](int64_t items, const auto& task_of) {
    pass.parallel(items, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) problem.run(task_of(i), pass.scratch<float>(worker));
    });
  };
  if (heads >= 2 * static_cast<int64_t>(pass.pool.workers()))
    return run(heads,
               [&](int64_t i) { return BackwardTask{i, 0, problem.panels, 0, problem.queries, of_query, of_keys}; });
  const int64_t ranges = ceil_div(problem.panels, kKeyPanels);
  run(of_keys ? heads * ranges : 0, [&](int64_t i) {
    const int64_t first = i % ranges * kKeyPanels;
    return BackwardTask{i / ranges, first, std::min(first + kKeyPanels, problem.panels), 0, problem.queries,
                        false,      true};
  });
  // An item packs the keys that its queries see, so it should have several blocks, but there must be enough items for all workers.
  const int64_t most = ceil_div(int64_t{8} * pass.pool.workers(), heads);
  const int64_t some = ceil_div(ceil_div(problem.queries, kBlockQueries), most) * kBlockQueries;
  const int64_t parts = ceil_div(problem.queries, some);
  run(of_query ? heads * parts : 0, [&](int64_t i) {
    const int64_t first = i % parts * some, end = std::min(first + some, problem.queries);
    return BackwardTask{i / parts, 0, problem.panels_before(end), first, end, true, false};
  });
}

}  // namespace heed::cpu
