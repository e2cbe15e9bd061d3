// The part of the tour that uses heed.
#include <algorithm>
#include <chrono>

#include "model.hpp"

namespace tour {
namespace {

constexpr int kLeastRuns = 5, kMostRuns = 50;
constexpr double kMostMilliseconds = 300;

heed::Tensor words(heed::Graph& g, const char* input, heed::Dim count, int64_t vocabulary) {
  const heed::Tensor table = g.weight("embedding", {vocabulary, kWidth});
  return g.positional_encoding(g.embedding(table, g.input(input, {1, count}, heed::DType::I32)));
}

heed::Graph make_graph(const Model& model, Flavour flavour) {
  heed::Graph g;
  heed::Tensor weights;
  heed::nn::MultiHeadOptions options = {.heads = model.heads,
                                        .d_k = kHeadWidth,
                                        .names = heed::nn::kSeparate,
                                        .bias = false,
                                        .out_bias = false,
                                        .weights = &weights};
  if (flavour == Flavour::Causal) options.causal = heed::Causal::TopLeft;
  const heed::Tensor x = words(g, "rows", g.extent("rows", kMaxWords), model.vocabulary());
  heed::Tensor y;
  if (flavour == Flavour::Cross) {
    const heed::Tensor context = words(g, "columns", g.extent("columns", kMaxWords), model.vocabulary());
    y = heed::nn::cross_attention(g, x, context, "attention", options);
  } else {
    y = heed::nn::self_attention(g, x, "attention", options);
  }
  g.output("weights", weights);
  g.output("output", y);
  return g;
}

heed::Status upload(heed::Device& device, const Model& model, heed::Weights* weights) {
  const int64_t heads_width = model.heads * kHeadWidth;
  const int64_t table[] = {model.vocabulary(), kWidth}, in[] = {heads_width, kWidth}, out[] = {kWidth, heads_width};
  const auto tensor = [](const char* name, std::span<const int64_t> shape, const std::vector<float>& values) {
    return heed::HostTensor{name, heed::DType::F32, shape, std::as_bytes(std::span(values))};
  };
  const heed::HostTensor tensors[] = {
      tensor("embedding", table, model.embedding),    tensor("attention.w_q.weight", in, model.query),
      tensor("attention.w_k.weight", in, model.key),  tensor("attention.w_v.weight", in, model.value),
      tensor("attention.w_o.weight", out, model.out),
  };
  return device.upload(tensors, weights);
}

// Repeats a run at least kLeastRuns times, until kMostMilliseconds or kMostRuns are reached.
template <class Run>
heed::Status measure(Run&& run_once, double* median) {
  std::vector<double> times;
  double total = 0;
  for (int i = 0; i < kMostRuns && (i < kLeastRuns || total < kMostMilliseconds); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const heed::Status status = run_once();
    if (status != heed::Status::Ok) return status;
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  *median = times[times.size() / 2];
  return heed::Status::Ok;
}

}  // namespace

heed::Status run(heed::Device& device, const Model& model, Flavour flavour, Result* result) {
  heed::Weights weights;
  heed::Status status = upload(device, model, &weights);
  if (status != heed::Status::Ok) return status;
  heed::Plan plan;
  status = device.compile(make_graph(model, flavour), weights, &plan);
  if (status != heed::Status::Ok) return status;

  const bool cross = flavour == Flavour::Cross;
  const size_t columns = cross ? model.columns.size() : model.rows.size();
  result->weights.resize(static_cast<size_t>(model.heads) * model.rows.size() * columns);
  result->output.resize(model.rows.size() * static_cast<size_t>(kWidth));
  std::vector<heed::HostBuffer> buffers = {
      {"rows", model.rows}, {"weights", result->weights}, {"output", result->output}};
  std::vector<heed::ExtentValue> extents = {{"rows", static_cast<int64_t>(model.rows.size())}};
  if (cross) {
    buffers.emplace_back("columns", model.columns);
    extents.push_back({"columns", static_cast<int64_t>(columns)});
  }
  return measure([&] { return plan.run(buffers, extents); }, &result->milliseconds);
}

}  // namespace tour
