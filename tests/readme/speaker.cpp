#include <algorithm>
#include <vector>

#include <heed/heed.hpp>

// Reads a prompt of token ids, and says the `count` most likely tokens that follow.
heed::Status speak(std::string_view device_name, const heed::DecoderConfig& config,
                   std::span<const heed::HostTensor> tensors, std::span<const int32_t> prompt, size_t count,
                   std::vector<int32_t>* said) {
  constexpr int64_t kCapacity = 512, kMost = 32;  // tokens of a conversation, and of a run
  heed::Graph g;
  const heed::Dim past = g.position("past", kCapacity - 1), tokens = g.extent("tokens", kMost);
  const heed::Tensor ids = g.input("ids", {1, tokens}, heed::DType::I32);
  const heed::DecoderResult y = heed::nn::decoder(g, ids, config, {.cache = {.capacity = kCapacity, .past = past}});
  g.output("next", g.argmax(y.logits));

  heed::Device device;
  heed::Weights weights;
  heed::Plan plan;
  heed::State conversation;  // keys and values; each conversation has its own
  heed::Status s = heed::Device::open({.select = device_name}, &device);
  if (s == heed::Status::Ok) s = device.upload(tensors, &weights);
  if (s == heed::Status::Ok) s = device.compile(g, weights, &plan);
  if (s == heed::Status::Ok) s = plan.make_state(&conversation);

  int32_t next[1] = {};
  int64_t there = 0;
  const auto read = [&](std::span<const int32_t> words) {
    const auto n = static_cast<int64_t>(words.size());
    s = plan.run({{"ids", words}, {"next", next}}, {{"past", there}, {"tokens", n}}, {.state = conversation});
    there += n;
  };
  while (s == heed::Status::Ok && !prompt.empty()) {
    const size_t n = std::min<size_t>(prompt.size(), kMost);
    read(prompt.first(n));
    prompt = prompt.subspan(n);
  }
  for (; s == heed::Status::Ok && count > 0; --count) {
    said->push_back(next[0]);
    if (count > 1) read(next);
  }
  return s;
}
