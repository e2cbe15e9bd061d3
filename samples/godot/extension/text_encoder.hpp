// HeedTextEncoder: a node that finds which of a game's intents a text means, by a sentence model. A separate thread computes; each frame
// reads the results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device.hpp"
#include "godot.hpp"

struct EncoderModel;

class HeedTextEncoder final : public godot::Node {
 public:
  static const godot::Class& description();

  using Node::Node;
  ~HeedTextEncoder() override;

  godot::Error open(godot::Object device, const std::string& path);
  godot::Error set_intents(const godot::Texts& intents);
  godot::Error ask(const std::string& text);
  bool is_asking() const;

  void process() override;

 private:
  bool check_open(const char* method) const;
  void leave();

  std::shared_ptr<EncoderModel> model_;
};
