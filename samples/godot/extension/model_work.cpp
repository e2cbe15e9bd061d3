#include "model_work.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "processor.hpp"

namespace {

constexpr size_t kAlignment = 256;  // of arrays in the memory shared with the GPU
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The error text for a failure of FrameCommands, which heed has not logged.
heed::Status without_commands(heed::Status status, std::string* problem) {
  if (status == heed::Status::OutOfDeviceMemory) *problem = "the GPU's driver has no memory for commands";
  return status;
}

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t elements_of(const std::vector<int64_t>& dims) {
  uint64_t product = 1;
  for (const int64_t dim : dims) product *= static_cast<uint64_t>(dim);
  return product;
}

}  // namespace

ModelWork::ModelWork(std::shared_ptr<const ModelFile> file, std::shared_ptr<Gpu> gpu, heed::Device cpu)
    : file_(std::move(file)), gpu_(std::move(gpu)), cpu_(std::move(cpu)) {
  if (!gpu_) return;
  memory_ = std::make_unique<SharedMemory>(gpu_);
  commands_ = std::make_unique<FrameCommands>(gpu_);
}

ModelWork::~ModelWork() {
  if (gpu_) (void)gpu_->is_alive();
}

void ModelWork::leave(std::shared_ptr<ModelWork> work) {
  Worker& worker = work->worker_;
  worker.post([work = std::move(work)] { std::ignore = work; });
}

std::string ModelWork::why(heed::Status status) const {
  if (gpu_) gpu_->note(status);
  if (gpu_ && !gpu_->is_alive()) return gpu_->problem();
  const std::string said = heed::last_message();
  return said.empty() ? heed::to_string(status) : said;
}

void ModelWork::tell(News news) {
  const std::lock_guard lock(mutex_);
  news_.is_opened |= news.is_opened;
  news_.is_finished |= news.is_finished;
  if (news_.problem.empty()) news_.problem = std::move(news.problem);
}

ModelWork::News ModelWork::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void ModelWork::open(heed::Graph graph) {
  graph_ = graph;
  worker_.post([self = shared_from_this(), graph = std::move(graph)] {
    ModelWork& work = *self;
    heed::Status status = heed::Status::NotReady;
    std::string problem;
    const auto upload = [&] {
      status = work.file_->model.upload(work.device(), graph, heed::no_log(), &work.weights_);
      if (status != heed::Status::Ok) problem = work.why(status);
    };
    if (!work.gpu_)
      upload();
    else if (!work.gpu_->run(upload, true))
      problem = work.gpu_->refusal();
    if (status == heed::Status::Ok) {
      status = work.device().compile(graph, work.weights_, &work.plan_, {.timestamps = true, .record_slots = 1});
      if (status != heed::Status::Ok) problem = work.why(status);
    }
    work.is_open_ = status == heed::Status::Ok;
    work.tell({.is_opened = work.is_open_, .problem = work.is_open_ ? "" : "the network cannot be used: " + problem});
  });
}

bool ModelWork::fit(const std::vector<heed::OnnxShape>& shapes, ModelRun* run, std::string* why) const {
  heed::Status status = file_->model.find_extents(graph_, shapes, heed::no_log(), &run->extents);
  for (ModelValue& value : run->values)
    if (status == heed::Status::Ok && value.is_output) {
      status = plan_.find_dims(value.name, run->extents, &value.dims);
      if (status == heed::Status::Ok && value.buffer.id == 0)
        value.bytes.resize(heed::bytes_of(value.dtype, elements_of(value.dims)));
    }
  // An extent of 0 needs another graph.
  std::erase_if(run->values, [](const ModelValue& value) {
    return !value.is_output && std::find(value.dims.begin(), value.dims.end(), 0) != value.dims.end();
  });
  if (status != heed::Status::Ok) *why = heed::last_message();
  return status == heed::Status::Ok;
}

void ModelWork::begin(ModelRun run) {
  run_ = std::move(run);
  cursor_ = {};
  is_running_ = true;
}

void ModelWork::end(heed::Status status, std::string problem) {
  if (status != heed::Status::Ok) problem = "the run broke off: " + (problem.empty() ? why(status) : problem);
  is_running_ = false;
  tell({.is_finished = status == heed::Status::Ok, .problem = std::move(problem)});
}

void ModelWork::allow(double budget_ms) {
  if (!is_running_) return;
  const double limit = budget_ms > 0 ? budget_ms : kNoLimit;
  if (gpu_) {
    if (!gpu_->post([self = shared_from_this(), limit] { self->advance(limit); })) end(heed::Status::DeviceLost, "");
    return;
  }
  ++run_.frames;
  if (is_posted_) return;
  owed_ms_ = std::max(0.0, owed_ms_ - limit);
  if (owed_ms_ > 0) return;
  is_posted_ = true;
  worker_.post([self = shared_from_this(), is_limited = budget_ms > 0] { self->compute(is_limited); });
}

bool ModelWork::run_now(ModelRun run, std::string* why) {
  begin(std::move(run));
  heed::Status status = heed::Status::NotReady;
  const auto compute = [&] {
    if (!gpu_) {
      status = run_on_arrays();
    } else {
      bool is_over = false;
      do {
        status = advance_some(kNoLimit, &is_over, why);
        if (status == heed::Status::Ok && !is_over) status = commands_->wait();
      } while (status == heed::Status::Ok && !is_over);
    }
    if (status != heed::Status::Ok && why->empty()) *why = this->why(status);
  };
  if (!gpu_)
    compute();
  else if (!gpu_->run(compute))
    *why = gpu_->refusal();
  is_running_ = false;
  return status == heed::Status::Ok;
}

// --- On the CPU: on the worker's thread, or the caller's of run_now.

heed::Status ModelWork::run_on_arrays() {
  std::vector<heed::HostBuffer> buffers;
  for (ModelValue& value : run_.values) buffers.emplace_back(value.name, value.bytes);
  const auto from = std::chrono::steady_clock::now();
  const heed::Status status = plan_.run(buffers, run_.extents);
  run_.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
  return status;
}

void ModelWork::compute(bool is_limited) {
  const ProcessorShare share;
  const heed::Status status = run_on_arrays();
  if (is_limited) owed_ms_ = owed_ms_ + share.took_ms();
  end(status, "");
  is_posted_ = false;
}

// --- On Godot's GPU: on its thread.

void ModelWork::advance(double budget_ms) {
  if (!is_running_) return;
  bool is_over = false;
  std::string problem;
  const heed::Status status = advance_some(budget_ms, &is_over, &problem);
  if (is_over || status != heed::Status::Ok) end(status, std::move(problem));
}

heed::Status ModelWork::advance_some(double budget_ms, bool* is_over, std::string* problem) {
  const heed::Status status = commands_->poll();
  if (status != heed::Status::Ok && status != heed::Status::NotReady) return status;
  *is_over = status == heed::Status::Ok && cursor_.done();
  if (*is_over) return collect();
  ++run_.frames;
  // If the GPU is behind, this frame records nothing more.
  return status == heed::Status::Ok ? record(budget_ms, problem) : heed::Status::Ok;
}

heed::Status ModelWork::record(double budget_ms, std::string* problem) {
  VkCommandBuffer commands = VK_NULL_HANDLE;
  heed::Status status = cursor_.begun() ? heed::Status::Ok : place_arrays(problem);
  if (status == heed::Status::Ok) status = find_buffers(problem);
  if (status != heed::Status::Ok) return status;
  status = commands_->begin(&commands);
  if (status != heed::Status::Ok) return without_commands(status, problem);
  const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan_);
  if (!cursor_.begun())
    commands_->barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, needs.before_dst_stages,
                       needs.before_dst_accesses);
  heed::vulkan::Cursor next = cursor_;
  status = heed::vulkan::record_some(plan_, commands, {.buffers = buffers_, .extents = run_.extents}, budget_ms, &next);
  if (status != heed::Status::Ok) return status;
  if (next.done())
    commands_->barrier(needs.after_src_stages, needs.after_src_accesses,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
  status = commands_->submit();
  if (status != heed::Status::Ok) return without_commands(status, problem);
  cursor_ = next;
  return status;
}

// Arrays are placed one after the other in the shared memory. Inputs are copied there.
heed::Status ModelWork::place_arrays(std::string* problem) {
  size_t bytes = 0;
  for (ModelValue& value : run_.values) {
    value.offset = bytes;
    if (value.buffer.id == 0) bytes += rounded_up(value.bytes.size());
  }
  if (memory_->bytes() < bytes && !memory_->make(bytes)) {
    *problem = "the GPU has no memory for arrays of " + std::to_string(bytes) + " bytes";
    return heed::Status::OutOfDeviceMemory;
  }
  buffers_.clear();
  for (const ModelValue& value : run_.values) {
    buffers_.push_back({value.name, memory_->buffer(), value.offset, rounded_up(value.bytes.size())});
    if (value.buffer.id == 0 && !value.is_output)
      std::memcpy(memory_->mapped() + value.offset, value.bytes.data(), value.bytes.size());
  }
  return heed::Status::Ok;
}

// Buffers of the game, which it may free between frames.
heed::Status ModelWork::find_buffers(std::string* problem) {
  for (size_t i = 0; i < run_.values.size(); ++i) {
    const ModelValue& value = run_.values[i];
    if (value.buffer.id == 0) continue;
    if (!gpu_->find_buffer(value.buffer, &buffers_[i])) {
      *problem = "the buffer that was bound to " + value.name + " is gone; bind another one";
      return heed::Status::NotFound;
    }
    buffers_[i].offset = 0;
  }
  return heed::Status::Ok;
}

// The GPU has finished the last part.
heed::Status ModelWork::collect() {
  for (ModelValue& value : run_.values)
    if (value.buffer.id == 0 && value.is_output)
      std::memcpy(value.bytes.data(), memory_->mapped() + value.offset, value.bytes.size());
  std::vector<heed::PassTime> times;
  if (plan_.timings(&times) == heed::Status::Ok)
    for (const heed::PassTime& time : times) run_.milliseconds += time.milliseconds;
  return heed::vulkan::take_faults(plan_);
}
