// HeedListener: a node that recognizes speech. Each frame passes sound to its model's worker, and reads the text since the last one.
// Listeners with the same model share its weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "godot.hpp"
#include "listener_model.hpp"

class HeedListener final : public godot::Node {
 public:
  static const godot::Class& description();

  using Node::Node;
  ~HeedListener() override;

  godot::Error open(godot::Object device, const std::string& path);
  godot::Error listen_to(godot::Object capture);
  godot::Error push(const godot::Floats& samples, int64_t rate);
  godot::Error push_stereo(const godot::Points& frames, int64_t rate);
  void cancel();
  bool is_busy() const { return ear_ != nullptr && ear_->is_busy(); }

  bool is_listening() const { return is_listening_; }
  void set_listening(bool on);
  const std::string& language() const { return language_; }
  void set_language(const std::string& language) { language_ = language; }
  double budget_msec() const { return budget_msec_; }
  void set_budget_msec(double milliseconds);
  double pause_sec() const { return pause_sec_; }
  void set_pause_sec(double seconds);
  double partial_sec() const { return partial_sec_; }
  void set_partial_sec(double seconds);

  void process() override;

 private:
  godot::Error take(const char* method, std::vector<float> samples, int64_t rate);
  void take_captured();
  void forget();

  std::shared_ptr<ListenerModel> model_;
  std::shared_ptr<ListenerEar> ear_;  // null: no model
  godot::Weak capture_;               // an AudioEffectCapture
  bool is_listening_ = true;
  std::string language_;
  double budget_msec_ = 0, pause_sec_ = 0.6, partial_sec_ = 1.0;
};
