// HeedAttention: an attention layer, or a stack of encoder layers, that computes on Godot's buffers, in the order of frames, and without
// reading anything back; or on arrays, also on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "attention_layer.hpp"
#include "device.hpp"
#include "godot.hpp"

struct AttentionWork;  // its device objects

// A string that can be a template argument.
template <size_t size>
struct FixedName {
  constexpr FixedName(const char (&of)[size]) { std::copy_n(of, size, text); }
  char text[size];
};

class HeedAttention final : public godot::Instance {
 public:
  static const godot::Class& description();

  explicit HeedAttention(godot::Object object) : Instance(object) {}
  ~HeedAttention() override;

  godot::Error open(godot::Object device, const std::string& given, const std::string& prefix);
  godot::Error open_by_rule(godot::Object device, int64_t seed);
  void close() { work_.reset(); }
  bool is_open() const { return work_ != nullptr; }
  godot::Texts weight_names() const;
  int64_t weight_size(const std::string& name) const;
  godot::Error set_weight(const std::string& name, const godot::Floats& values);

  int64_t row_width(const std::string& name) const;
  godot::Rid make_buffer(const std::string& name);
  godot::Error bind(const std::string& name, godot::Rid buffer);
  godot::Error compute(int64_t queries, int64_t keys);
  godot::Floats run(const godot::Floats& x, const godot::Floats& context);
  int64_t runs() const;
  double msec() const;

  // A member of the shape, as a property with a range. It takes effect when the layer is opened.
  template <FixedName name, auto member, int64_t least, int64_t most>
  void set(int64_t value) {
    if (check_closed() && check_bounds(name.text, value, least, most)) shape_.*member = value;
  }
  template <auto member>
  void set_flag(bool value) {
    if (check_closed()) shape_.*member = value;
  }
  template <auto member>
  auto get() const {
    return shape_.*member;
  }
  void set_scale(double scale);

 private:
  bool check_closed() const;
  static bool check_bounds(const char* name, int64_t value, int64_t least, int64_t most);
  godot::Error make(const char* method, godot::Object device, const std::string& prefix,
                    std::vector<AttentionWeight> weights);
  bool check_open(const char* method) const;

  AttentionShape shape_;
  std::map<std::string, godot::Floats> given_;  // set by set_weight
  std::shared_ptr<AttentionWork> work_;
};
