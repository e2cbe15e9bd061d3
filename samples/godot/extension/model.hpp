// HeedModel: a node that runs a network of an ONNX file, such as a policy from PyTorch: a part in each frame, on arrays or on Godot's
// buffers, on Godot's GPU or on the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "device.hpp"
#include "godot.hpp"
#include "model_work.hpp"

class HeedModel final : public godot::Node {
 public:
  static const godot::Class& description();

  using Node::Node;
  ~HeedModel() override { close(); }

  godot::Error load(const std::string& path);
  godot::Error set_largest(const std::string& dim, int64_t size);
  godot::Error open(godot::Object device);
  void close();
  bool is_open() const { return work_ && work_->is_open(); }

  godot::Texts input_names() const;
  godot::Texts output_names() const;
  std::string type(const std::string& name) const;
  godot::Texts dims(const std::string& name) const;

  godot::Error set_floats(const std::string& name, const godot::Floats& values, const godot::Ints& shape);
  godot::Error set_ints(const std::string& name, const godot::Ints& values, const godot::Ints& shape);
  godot::Error set_bytes(const std::string& name, const godot::Bytes& values, const godot::Ints& shape);
  godot::Error bind(const std::string& name, godot::Rid buffer, const godot::Ints& shape);

  godot::Error run();
  godot::Error run_now();
  bool is_running() const { return is_running_; }

  godot::Floats floats(const std::string& name);
  godot::Ints ints(const std::string& name);
  godot::Bytes bytes(const std::string& name);
  godot::Ints shape(const std::string& name);
  int64_t frames() const { return has_run() ? work_->last().frames : 0; }
  double msec() const { return has_run() ? work_->last().milliseconds : 0; }

  double budget_msec() const { return budget_msec_; }
  void set_budget_msec(double milliseconds);

  void process() override;

 private:
  struct Given {
    std::vector<int64_t> dims;
    godot::Bytes bytes;
    godot::Rid buffer;
  };

  godot::Error refuse(const char* method, godot::Error error, const std::string& why) const;
  bool has_run() const { return work_ && has_run_ && !is_running_; }
  const heed::OnnxTensor* find(const std::string& name, bool* is_output) const;
  godot::Error set(const char* method, const std::string& name, const void* values, size_t bytes,
                   const heed::DType* dtype, const godot::Ints& shape);
  godot::Error prepare(const char* method, ModelRun* run) const;
  const ModelValue* result(const char* method, const std::string& name, const heed::DType* dtype) const;

  std::shared_ptr<ModelFile> file_;
  std::map<std::string, int64_t> largest_;
  std::shared_ptr<ModelWork> work_;
  std::map<std::string, Given> given_;  // values of inputs, and buffers of outputs
  double budget_msec_ = 0;
  bool is_running_ = false;  // until it was reported
  bool is_asked_ = false;    // a run that waits until the network is open
  bool has_run_ = false;
};
