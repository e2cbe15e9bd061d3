#include <vector>

#include <heed/heed.hpp>

// Causal self-attention of 3 tokens, 8 wide, 2 heads, on the best device of the machine. No file, no GPU needed.
heed::Status attend(std::vector<float>* y) {
  const std::vector<float> x(3 * 8, 0.5f), w_qkv(24 * 8, 0.01f), b_qkv(24), w_o(8 * 8, 0.02f), b_o(8);
  const int64_t qkv[] = {24, 8}, three[] = {24}, out[] = {8, 8}, one[] = {8};
  const auto bytes = [](const std::vector<float>& v) { return std::as_bytes(std::span(v)); };
  const heed::HostTensor tensors[] = {{"layer.wqkv.weight", heed::DType::F32, qkv, bytes(w_qkv)},
                                      {"layer.wqkv.bias", heed::DType::F32, three, bytes(b_qkv)},
                                      {"layer.wo.weight", heed::DType::F32, out, bytes(w_o)},
                                      {"layer.wo.bias", heed::DType::F32, one, bytes(b_o)}};

  heed::Graph g;
  const heed::Dim tokens = g.extent("tokens", 512);  // differs from run to run, up to 512
  const heed::Tensor input = g.input("x", {1, tokens, 8});
  g.output("y", heed::nn::self_attention(g, input, "layer", {.heads = 2, .causal = heed::Causal::TopLeft}));

  heed::Device device;
  heed::Weights weights;
  heed::Plan plan;
  heed::Status s = heed::Device::open({}, &device);  // or {.select = "cpu"}
  if (s == heed::Status::Ok) s = device.upload(tensors, &weights);
  if (s == heed::Status::Ok) s = device.compile(g, weights, &plan);
  y->resize(x.size());
  if (s == heed::Status::Ok) s = plan.run({{"x", x}, {"y", *y}}, {{"tokens", 3}});
  return s;
}
