#include "attention_work.hpp"

#include <utility>

namespace {

constexpr uint32_t kSlots = 3;

std::vector<heed::HostTensor> tensors_of(const std::vector<AttentionWeight>& weights) {
  std::vector<heed::HostTensor> tensors;
  for (const AttentionWeight& weight : weights)
    tensors.push_back({weight.name, heed::DType::F32, weight.shape, std::as_bytes(std::span(weight.values))});
  return tensors;
}

}  // namespace

AttentionWork::AttentionWork(const AttentionShape& of_shape, std::shared_ptr<Gpu> on_gpu, heed::Device on_cpu)
    : shape(of_shape), gpu(std::move(on_gpu)), cpu(std::move(on_cpu)) {
  const int64_t head = shape.key_width > 0 ? shape.key_width : shape.width / shape.heads;
  const int64_t heads_wide = shape.heads * (shape.value_width > 0 ? shape.value_width : head);
  const bool is_wide = shape.out_projection || shape.encoder_layers > 0;
  widths = {{"x", shape.width}, {"y", is_wide ? shape.width : heads_wide}};
  names = {"x", "y"};
  if (shape.is_cross()) names.emplace_back("context"), widths["context"] = shape.context_width;
  if (shape.gives_weights)
    names.emplace_back("weights"),
        widths["weights"] = shape.heads * (shape.is_cross() ? shape.max_keys : shape.max_queries);
}

AttentionWork::~AttentionWork() {
  if (gpu) (void)gpu->is_alive();
}

heed::Status AttentionWork::make(const heed::Graph& graph, const std::vector<AttentionWeight>& weights) {
  heed::Status status = heed::Status::NotReady;
  const auto tensors = tensors_of(weights);
  const auto upload = [&] { status = device().upload(tensors, &uploaded_); };
  if (!gpu)
    upload();
  else if (!gpu->run(upload))
    godot::error("HeedAttention: " + gpu->refusal());
  // The caller's thread, which may be a loading thread, creates the pipelines.
  if (status == heed::Status::Ok)
    status = device().compile(graph, uploaded_, &plan_, {.timestamps = true, .record_slots = kSlots});
  if (status == heed::Status::Ok && gpu)
    status = heed::vulkan::Submitter::create(device(), {.slots = kSlots}, &submitter_);
  if (gpu) gpu->note(status);
  return status;
}

int64_t AttentionWork::width_of(const std::string& name) const {
  const auto found = widths.find(name);
  return found == widths.end() ? 0 : found->second;
}

int64_t AttentionWork::most_rows_of(const std::string& name) const {
  return name == "context" ? shape.max_keys : shape.max_queries;
}

bool AttentionWork::has_all_buffers(std::string* missing) const {
  const std::lock_guard lock(mutex);
  for (const std::string& name : names)
    if (!bound.contains(name)) {
      *missing = name;
      return false;
    }
  return true;
}

// A fault prints one line in the console, not one for each frame.
void AttentionWork::say_once(const std::string& problem) {
  if (problem != said_ && !problem.empty()) godot::error("HeedAttention.compute: " + problem);
  said_ = problem;
}

void AttentionWork::collect() {
  std::erase_if(under_way_, [&](uint32_t slot) {
    const heed::Status status = submitter_.poll(slot);
    if (status == heed::Status::NotReady) return false;
    gpu->note(status);
    if (status != heed::Status::Ok) return true;
    ++ended;
    std::vector<heed::PassTime> times;
    if (plan_.timings(&times, slot) != heed::Status::Ok) return true;
    double sum = 0;
    for (const heed::PassTime& time : times) sum += time.milliseconds;
    milliseconds = sum;
    return true;
  });
}

void AttentionWork::submit(int64_t queries, int64_t keys) {
  if (!gpu->is_alive()) return say_once(gpu->problem());
  collect();
  std::vector<heed::vulkan::Buffer> buffers;
  for (const std::string& name : names) {
    godot::Rid rid;
    {
      const std::lock_guard lock(mutex);
      rid = bound[name];
    }
    heed::vulkan::Buffer buffer;
    if (!gpu->find_buffer(rid, &buffer))
      return say_once("the buffer that was bound to " + name + " is gone; bind another one");
    buffer.name = name;
    buffers.push_back(buffer);
  }
  std::vector<heed::ExtentValue> extents = {{"queries", queries}};
  if (shape.is_cross()) extents.push_back({"keys", keys});
  uint32_t slot = 0;
  const heed::Status status = submitter_.submit(plan_, {.buffers = buffers, .extents = extents}, &slot);
  gpu->note(status);
  if (status == heed::Status::NotReady) return;
  if (status == heed::Status::DeviceLost) return say_once(gpu->problem());
  if (status != heed::Status::Ok) return say_once(std::string("nothing was computed: ") + heed::to_string(status));
  said_.clear();
  under_way_.push_back(slot);
  if (!gpu->is_local()) return;
  (void)submitter_.wait(slot);
  collect();
}

heed::Status AttentionWork::run(const std::vector<float>& x, const std::vector<float>& context, std::vector<float>* y) {
  const int64_t queries = static_cast<int64_t>(x.size()) / shape.width;
  const int64_t keys = shape.is_cross() ? static_cast<int64_t>(context.size()) / shape.context_width : queries;
  std::vector<float> weights(shape.gives_weights ? static_cast<size_t>(shape.heads * queries * keys) : 0);
  y->resize(static_cast<size_t>(queries * width_of("y")));
  std::vector<heed::HostBuffer> buffers = {{"x", x}, {"y", *y}};
  std::vector<heed::ExtentValue> extents = {{"queries", queries}};
  if (shape.is_cross()) {
    buffers.emplace_back("context", context);
    extents.push_back({"keys", keys});
  }
  if (shape.gives_weights) buffers.emplace_back("weights", weights);
  if (!gpu) return plan_.run(buffers, extents);
  heed::Status status = heed::Status::NotReady;
  const bool is_called = gpu->run([&] {
    for (const uint32_t slot : under_way_) (void)submitter_.wait(slot);
    collect();
    status = plan_.run(buffers, extents);
    gpu->note(status);
  });
  return is_called ? status : heed::Status::NotReady;
}
