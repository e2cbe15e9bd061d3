#include <vector>

#include <heed/heed.hpp>

// Fits y = w x + b by gradient descent. w and b stay on the device; a run is a step, which gives the loss before it.
heed::Status fit(std::string_view device_name, const std::vector<float>& x, const std::vector<float>& y, int steps,
                 float* slope, std::vector<float>* losses) {
  const auto n = static_cast<int64_t>(x.size());
  heed::Graph g;
  const heed::Tensor w = g.state("w", {1, 1}), b = g.state("b", {1});
  const heed::Tensor error = g.add(g.linear(g.input("x", {n, 1}), w, b), g.scale(g.input("y", {n, 1}), -1.0f));
  const heed::Tensor loss = g.mean(g.mul(error, error), 0);
  g.output("loss", loss);
  const heed::Tensor of[] = {w, b};
  const std::vector<heed::Tensor> d = heed::train::gradients(g, loss, of);
  for (const int i : {0, 1}) g.assign(of[i], g.add(of[i], g.scale(d[i], -0.1f)));

  heed::Device device;
  heed::Plan plan;
  heed::State state;  // zeros at first
  heed::Status s = heed::Device::open({.select = device_name}, &device);
  if (s == heed::Status::Ok) s = device.compile(g, {}, &plan, {.training = true});
  if (s == heed::Status::Ok) s = plan.make_state(&state);
  for (; s == heed::Status::Ok && steps > 0; --steps) {
    float now[1] = {};
    s = plan.run({{"x", x}, {"y", y}, {"loss", now}}, {}, {.state = state});
    losses->push_back(now[0]);
  }
  if (s == heed::Status::Ok) s = state.read("w", std::as_writable_bytes(std::span(slope, 1)));
  return s;
}
