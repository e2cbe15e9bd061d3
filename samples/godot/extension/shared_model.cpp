#include "shared_model.hpp"

#include <algorithm>

#include "godot.hpp"

SharedModel::SharedModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path)
    : path_(std::move(path)), gpu_(std::move(gpu)), device_(gpu_ ? gpu_->background() : cpu) {}

void SharedModel::look_at_device() const {
  if (gpu_) (void)gpu_->is_alive();
}

std::string SharedModel::why(heed::Status status) const {
  if (gpu_) gpu_->note(status);
  return gpu_ && !gpu_->is_alive() ? gpu_->problem() : heed::to_string(status);
}

std::string SharedModel::why_not_open() const {
  return "the model could not be opened: " + why(status_) + godot::why_no_file(path_);
}

void SharedModel::open() {
  // All nodes were freed before their model was opened. A later node gets another model.
  if (nodes_ == 0) {
    is_failed_ = true;
    if (nodes_ == 0) return;
  }
  status_ = open_model();
  is_failed_ = status_ != heed::Status::Ok;
}

// Debts remain for later frames, but unused time does not, and steps without a limit leave no debts.
void SharedModel::allow_time(double budget_ms) {
  is_limited_ = budget_ms > 0;
  allowed_ms_ = is_limited_ ? std::min(allowed_ms_, 0.0) + budget_ms : 0;
  if (!must_wait()) go_on();
}

void SharedModel::allow(int64_t frame, double budget_ms) {
  if (frame_.exchange(frame) == frame) return;  // another node's call
  worker_.post([self = shared_from_this(), budget_ms] {
    self->gpu_ ? self->step_in_frame(budget_ms) : self->allow_time(budget_ms);
  });
}

void SharedModel::leave(std::shared_ptr<SharedModel> model) {
  --model->nodes_;
  Worker& worker = model->worker_;
  worker.post([model = std::move(model)] { std::ignore = model; });
}
