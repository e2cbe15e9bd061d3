#include "text_encoder.hpp"

#include <heed/text_encoder.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "worker.hpp"

namespace {

struct Found {
  std::string text, problem;  // on an error, with empty results
  godot::Texts intents;       // the nearest first
  godot::Floats cosines;
};

}  // namespace

// Shared by the node and its worker. Jobs keep it alive, so that freeing the node waits for nothing.
struct EncoderModel {
  std::shared_ptr<Gpu> gpu;  // declared before the objects on its device
  // Only the worker uses these.
  heed::Device device;
  heed::TextEncoder encoder;
  std::string path;
  heed::Status status = heed::Status::NotReady;
  godot::Texts intents;
  std::vector<float> vectors;  // [intents, width], each of length 1
  heed::Status status_of_intents = heed::Status::Ok;

  std::mutex mutex;  // protects these two
  std::deque<Found> found;
  int asked = 0;

  Worker worker;

  ~EncoderModel() {
    if (gpu) (void)gpu->is_alive();
  }
  heed::Status encode(const godot::Texts& texts, std::vector<float>* to) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    to->resize(views.size() * static_cast<size_t>(encoder.width()));
    const heed::Status result = encoder.encode(views, *to);
    if (gpu) gpu->note(result);
    return result;
  }
  void add(Found one) {
    const std::lock_guard lock(mutex);
    found.push_back(std::move(one));
  }
  Found find(const std::string& text);
};

Found EncoderModel::find(const std::string& text) {
  Found result{text, "", {}, {}};
  if (status != heed::Status::Ok) {
    result.problem = std::string("the model cannot be used: ") + heed::to_string(status) + godot::why_no_file(path);
    return result;
  }
  // A text that fails does not affect the next one.
  std::vector<float> vector;
  heed::Status encoded = status_of_intents;
  if (encoded == heed::Status::Ok && !intents.empty()) encoded = encode({text}, &vector);
  if (encoded != heed::Status::Ok) {
    result.problem = std::string("nothing can be compared: ") + heed::to_string(encoded);
    return result;
  }
  std::vector<float> cosine(intents.size());
  for (size_t i = 0; i < intents.size(); ++i)
    cosine[i] = std::inner_product(vector.begin(), vector.end(),
                                   vectors.begin() + static_cast<ptrdiff_t>(i * vector.size()), 0.0f);
  std::vector<size_t> order(intents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cosine[a] > cosine[b]; });
  for (const size_t i : order) {
    result.intents.push_back(intents[i]);
    result.cosines.push_back(cosine[i]);
  }
  return result;
}

HeedTextEncoder::~HeedTextEncoder() { leave(); }

// The worker holds the model last, and destroys it on its own thread.
void HeedTextEncoder::leave() {
  if (!model_) return;
  Worker& worker = model_->worker;
  worker.post([model = std::move(model_)] { (void)model; });
}

bool HeedTextEncoder::check_open(const char* method) const {
  if (!model_) godot::error(std::string("HeedTextEncoder.") + method + ": there is no model; call open() first");
  return model_ != nullptr;
}

godot::Error HeedTextEncoder::open(godot::Object object, const std::string& path) {
  if (refuse_thread("HeedTextEncoder.open")) return godot::Error::Unavailable;
  const HeedDevice* device = HeedDevice::opened(object, "HeedTextEncoder.open");
  if (device == nullptr) return godot::Error::InvalidParameter;
  if (!device->can_serve_models("HeedTextEncoder.open")) return godot::Error::Unavailable;
  auto fresh = std::make_shared<EncoderModel>();
  fresh->gpu = device->gpu();
  fresh->device = fresh->gpu ? fresh->gpu->background() : device->cpu();
  fresh->worker.post([model = fresh, path = godot::system_path(path)] {
    model->path = path;
    model->status = heed::TextEncoder::open(model->device, path, {.log = godot::log()}, &model->encoder);
  });
  leave();
  model_ = std::move(fresh);
  return godot::Error::Ok;
}

godot::Error HeedTextEncoder::set_intents(const godot::Texts& intents) {
  if (refuse_thread("HeedTextEncoder.set_intents")) return godot::Error::Unavailable;
  if (!check_open("set_intents")) return godot::Error::Unconfigured;
  model_->worker.post([model = model_, intents] {
    model->intents = intents;
    model->status_of_intents = heed::Status::Ok;
    if (model->status == heed::Status::Ok && !intents.empty())
      model->status_of_intents = model->encode(intents, &model->vectors);
  });
  return godot::Error::Ok;
}

godot::Error HeedTextEncoder::ask(const std::string& text) {
  if (refuse_thread("HeedTextEncoder.ask")) return godot::Error::Unavailable;
  if (!check_open("ask")) return godot::Error::Unconfigured;
  {
    const std::lock_guard lock(model_->mutex);
    ++model_->asked;
  }
  model_->worker.post([model = model_, text] { model->add(model->find(text)); });
  return godot::Error::Ok;
}

bool HeedTextEncoder::is_asking() const {
  if (!model_) return false;
  const std::lock_guard lock(model_->mutex);
  return model_->asked > 0;
}

void HeedTextEncoder::process() {
  while (model_) {
    Found one;
    {
      const std::lock_guard lock(model_->mutex);
      if (model_->found.empty()) return;
      one = std::move(model_->found.front());
      model_->found.pop_front();
      --model_->asked;
    }
    if (!one.problem.empty()) godot::error("HeedTextEncoder: " + one.problem);
    const bool is_there = one.problem.empty() ? emit("answered", {one.text, one.intents, one.cosines})
                                              : emit("failed", {one.text, one.problem});
    if (!is_there) return;
  }
}

const godot::Class& HeedTextEncoder::description() {
  using godot::Kind, godot::method;
  using T = HeedTextEncoder;
  static const godot::Class result{
      "HeedTextEncoder",
      "Node",
      godot::create<T>,
      {method<&T::open>("open", {{"device", Kind::Object, "HeedDevice"}, {"path"}}),
       method<&T::set_intents>("set_intents", {{"intents"}}), method<&T::ask>("ask", {{"text"}}),
       method<&T::is_asking>("is_asking")},
      {{"answered", {{"text", Kind::Text}, {"intents", Kind::Texts}, {"cosines", Kind::Floats}}},
       {"failed", {{"text", Kind::Text}, {"why", Kind::Text}}}},
      {}};
  return result;
}
