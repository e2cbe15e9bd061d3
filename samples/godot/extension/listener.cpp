#include "listener.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include "device.hpp"

namespace {

constexpr const char* kCaptureClass = "AudioEffectCapture";

// The mean of both channels.
std::vector<float> mono(const godot::Points& frames) {
  std::vector<float> samples(frames.numbers.size() / 2);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.5f * (frames.numbers[2 * i] + frames.numbers[2 * i + 1]);
  return samples;
}

void set_within(const char* name, double value, int most, double* property) {
  if (value >= 0 && value <= most)
    *property = value;
  else
    godot::error(std::string("HeedListener.") + name + ": must be 0 to " + std::to_string(most));
}

}  // namespace

HeedListener::~HeedListener() {
  forget();
  if (model_) ListenerModel::leave(std::move(model_));
}

void HeedListener::forget() {
  if (ear_) model_->forget(std::move(ear_));
  ear_.reset();
}

godot::Error HeedListener::open(godot::Object object, const std::string& path) {
  if (refuse_thread("HeedListener.open")) return godot::Error::Unavailable;
  const HeedDevice* device = HeedDevice::opened(object, "HeedListener.open");
  if (device == nullptr) return godot::Error::InvalidParameter;
  if (!device->can_serve_models("HeedListener.open")) return godot::Error::Unavailable;
  forget();
  // Gets the new model before releasing the old one, so that a listener that opens the same model again keeps it.
  auto before = std::exchange(model_, ListenerModel::of(device->gpu(), device->cpu(), godot::system_path(path)));
  if (before) ListenerModel::leave(std::move(before));
  ear_ = std::make_shared<ListenerEar>();
  return godot::Error::Ok;
}

godot::Error HeedListener::listen_to(godot::Object capture) {
  if (refuse_thread("HeedListener.listen_to")) return godot::Error::Unavailable;
  if (capture != nullptr && !godot::call_for<bool>(capture, "is_class", {std::string(kCaptureClass)})) {
    godot::error("HeedListener.listen_to: this is no AudioEffectCapture; null listens to none");
    return godot::Error::InvalidParameter;
  }
  capture_ = godot::Weak(capture);
  if (capture != nullptr) godot::call(capture, "clear_buffer");
  return godot::Error::Ok;
}

godot::Error HeedListener::take(const char* method, std::vector<float> samples, int64_t rate) {
  const std::string caller = std::string(method) + ": ";
  if (refuse_thread(method)) return godot::Error::Unavailable;
  if (!model_) {
    godot::error(caller + "there is no model; call open() first");
    return godot::Error::Unconfigured;
  }
  if (!is_listening_) {
    godot::error(caller + "listening is off, so that nothing is heard");
    return godot::Error::Unavailable;
  }
  if (!Resampler::takes(rate)) {
    const bool is_none = rate < Resampler::kLeastRate || rate > Resampler::kMostRate;
    godot::error(
        caller + "a rate of " + std::to_string(rate) + " Hz; " +
        (is_none ? "1000 to 768000 are heard"
                 : "this library was built without libsamplerate, and takes " + std::to_string(heed::kSpeechRate)));
    return is_none ? godot::Error::InvalidParameter : godot::Error::Unavailable;
  }
  if (samples.empty()) return godot::Error::Ok;
  heed::SpeechOptions options;
  options.language = language_;
  options.pause_seconds = static_cast<float>(pause_sec_);
  options.partial_seconds = static_cast<float>(partial_sec_);
  model_->push(ear_, std::move(samples), rate, options);
  return godot::Error::Ok;
}

godot::Error HeedListener::push(const godot::Floats& samples, int64_t rate) {
  return take("HeedListener.push", samples, rate);
}

godot::Error HeedListener::push_stereo(const godot::Points& frames, int64_t rate) {
  return take("HeedListener.push_stereo", mono(frames), rate);
}

void HeedListener::cancel() {
  if (!refuse_thread("HeedListener.cancel") && ear_) model_->cancel(ear_);
}

void HeedListener::set_listening(bool on) {
  if (refuse_thread("HeedListener.listening") || on == is_listening_) return;
  if (!on) take_captured();  // sound up to now
  is_listening_ = on;
  if (on)
    godot::call(capture_.get(), "clear_buffer");
  else if (ear_)
    model_->end(ear_);
}

void HeedListener::set_budget_msec(double milliseconds) {
  set_within("budget_msec", milliseconds, 1000000, &budget_msec_);
}
void HeedListener::set_pause_sec(double seconds) { set_within("pause_sec", seconds, 15, &pause_sec_); }
void HeedListener::set_partial_sec(double seconds) { set_within("partial_sec", seconds, 3600, &partial_sec_); }

// The sound of the bus since the last frame.
void HeedListener::take_captured() {
  const godot::Object capture = capture_.get();
  if (capture == nullptr || !model_ || !is_listening_) return;
  const auto frames = godot::call_for<int64_t>(capture, "get_frames_available");
  if (frames <= 0) return;
  const auto rate = godot::call_for<double>(godot::singleton("AudioServer"), "get_mix_rate");
  const auto captured = godot::call_for<godot::Points>(capture, "get_buffer", {frames});
  if (take("HeedListener.listen_to", mono(captured), static_cast<int64_t>(rate)) != godot::Error::Ok) capture_ = {};
}

void HeedListener::process() {
  take_captured();
  if (!ear_) return;
  if (ear_->is_busy())
    model_->allow(godot::call_for<int64_t>(godot::singleton("Engine"), "get_process_frames"), budget_msec_);
  const std::optional<ListenerEar::News> news = ear_->take();
  if (!news) return;
  for (const ListenerEar::Heard& one : news->heard)
    if (!emit("heard", {one.text, one.begin, one.end})) return;
  if (news->partial && !emit("partial", {*news->partial})) return;
  if (news->problem.empty()) return;
  godot::error("HeedListener: " + news->problem);
  std::ignore = emit("failed", {news->problem});
}

const godot::Class& HeedListener::description() {
  using godot::Kind, godot::method, godot::property;
  using T = HeedListener;
  static const godot::Class result{
      "HeedListener",
      "Node",
      godot::create<T>,
      {method<&T::open>("open", {{"device", Kind::Object, "HeedDevice"}, {"path"}}),
       method<&T::listen_to>("listen_to", {{"capture", Kind::Object, kCaptureClass}}),
       method<&T::push>("push", {{"samples"}, {"rate"}}),
       method<&T::push_stereo>("push_stereo", {{"frames"}, {"rate"}}), method<&T::cancel>("cancel"),
       method<&T::is_busy>("is_busy")},
      {{"partial", {{"text", Kind::Text}}},
       {"heard", {{"text", Kind::Text}, {"begin", Kind::Float}, {"end", Kind::Float}}},
       {"failed", {{"why", Kind::Text}}}},
      {property<&T::set_listening, &T::is_listening>("listening", "set_listening", "is_listening"),
       property<&T::set_language, &T::language>("language", "set_language", "get_language"),
       property<&T::set_budget_msec, &T::budget_msec>("budget_msec", "set_budget_msec", "get_budget_msec"),
       property<&T::set_pause_sec, &T::pause_sec>("pause_sec", "set_pause_sec", "get_pause_sec"),
       property<&T::set_partial_sec, &T::partial_sec>("partial_sec", "set_partial_sec", "get_partial_sec")}};
  return result;
}
