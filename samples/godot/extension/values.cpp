#include "values.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "interface.hpp"

namespace godot {
using namespace interface;
namespace {

void make_string(void* place, const std::string& text) {
  string_new_with_utf8_chars_and_len(place, text.data(), static_cast<GDExtensionInt>(text.size()));
}

std::string text_of(const void* string) {
  std::string text(static_cast<size_t>(string_to_utf8_chars(string, nullptr, 0)), '\0');
  string_to_utf8_chars(string, text.data(), static_cast<GDExtensionInt>(text.size()));
  return text;
}

// Methods of packed arrays; all have the same hashes.
template <GDExtensionVariantType type>
struct Packed {
  static size_t size(void* array) {
    static const GDExtensionPtrBuiltInMethod method = [] {
      Name name("size");
      return variant_get_ptr_builtin_method(type, name.get(), 3173160232);
    }();
    int64_t result = 0;
    method(array, nullptr, &result, 0);
    return static_cast<size_t>(result);
  }
  // An array of so many elements; throws, and makes none, if Godot lacks the memory.
  static void make(void* place, size_t elements) {
    static const GDExtensionPtrConstructor constructor = variant_get_ptr_constructor(type, 0);
    static const GDExtensionPtrBuiltInMethod method = [] {
      Name name("resize");
      return variant_get_ptr_builtin_method(type, name.get(), 848867239);
    }();
    constructor(place, nullptr);
    const auto wanted = static_cast<int64_t>(elements);
    const void* arguments[] = {&wanted};
    int64_t result = 0;
    method(place, arguments, &result, 1);
    if (result != 0) throw std::bad_alloc();
  }
};
using PackedBytes = Packed<GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY>;
using PackedFloats = Packed<GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY>;
using PackedInts = Packed<GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY>;
using PackedPoints = Packed<GDEXTENSION_VARIANT_TYPE_PACKED_VECTOR2_ARRAY>;
using PackedTexts = Packed<GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY>;

// Godot's functions that return elements of arrays accept no const array.
void* array_of(const void* raw) { return const_cast<void*>(raw); }

Bytes bytes_of(const void* raw) {
  Bytes bytes(PackedBytes::size(array_of(raw)));
  if (!bytes.empty()) std::memcpy(bytes.data(), packed_byte_array_operator_index(array_of(raw), 0), bytes.size());
  return bytes;
}

Floats floats_of(const void* raw) {
  Floats floats(PackedFloats::size(array_of(raw)));
  if (!floats.empty())
    std::memcpy(floats.data(), packed_float32_array_operator_index(array_of(raw), 0), floats.size() * sizeof(float));
  return floats;
}

Ints ints_of(const void* raw) {
  Ints ints(PackedInts::size(array_of(raw)));
  if (!ints.empty())
    std::memcpy(ints.data(), packed_int32_array_operator_index(array_of(raw), 0), ints.size() * sizeof(int32_t));
  return ints;
}

// Vectors have 32-bit floats (interface.hpp).
Points points_of(const void* raw) {
  Points points{Floats(2 * PackedPoints::size(array_of(raw)))};
  Floats& numbers = points.numbers;
  if (!numbers.empty())
    std::memcpy(numbers.data(), packed_vector2_array_operator_index(array_of(raw), 0), numbers.size() * sizeof(float));
  return points;
}

Texts texts_of(const void* raw) {
  Texts texts(PackedTexts::size(array_of(raw)));
  for (size_t i = 0; i < texts.size(); ++i)
    texts[i] = text_of(packed_string_array_operator_index(array_of(raw), static_cast<GDExtensionInt>(i)));
  return texts;
}

void write_bytes(const Bytes& bytes, void* raw) {
  PackedBytes::make(raw, bytes.size());
  if (!bytes.empty()) std::memcpy(packed_byte_array_operator_index(raw, 0), bytes.data(), bytes.size());
}

void write_floats(const Floats& floats, void* raw) {
  PackedFloats::make(raw, floats.size());
  if (!floats.empty())
    std::memcpy(packed_float32_array_operator_index(raw, 0), floats.data(), floats.size() * sizeof(float));
}

void write_ints(const Ints& ints, void* raw) {
  PackedInts::make(raw, ints.size());
  if (!ints.empty()) std::memcpy(packed_int32_array_operator_index(raw, 0), ints.data(), ints.size() * sizeof(int32_t));
}

void write_points(const Points& points, void* raw) {
  const Floats& numbers = points.numbers;
  PackedPoints::make(raw, numbers.size() / 2);
  if (!numbers.empty())
    std::memcpy(packed_vector2_array_operator_index(raw, 0), numbers.data(), numbers.size() * sizeof(float));
}

void write_texts(const Texts& texts, void* raw) {
  PackedTexts::make(raw, texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    void* place = packed_string_array_operator_index(raw, static_cast<GDExtensionInt>(i));
    interface::destroy<GDEXTENSION_VARIANT_TYPE_STRING>(place);
    make_string(place, texts[i]);
  }
}

// Variants that are destroyed together.
class Variants {
 public:
  explicit Variants(std::span<const Value> values) : opaque_(values.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      to_variant(values[i], &opaque_[i]);
      pointers_.push_back(&opaque_[i]);
    }
  }
  ~Variants() {
    for (Opaque& one : opaque_) variant_destroy(&one);
  }
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;
  const GDExtensionConstVariantPtr* data() const { return pointers_.data(); }
  GDExtensionInt size() const { return static_cast<GDExtensionInt>(pointers_.size()); }

 private:
  std::vector<Opaque> opaque_;
  std::vector<GDExtensionConstVariantPtr> pointers_;
};

}  // namespace

GDExtensionVariantType type_of(Kind kind) {
  constexpr GDExtensionVariantType kTypes[] = {GDEXTENSION_VARIANT_TYPE_NIL,
                                               GDEXTENSION_VARIANT_TYPE_BOOL,
                                               GDEXTENSION_VARIANT_TYPE_INT,
                                               GDEXTENSION_VARIANT_TYPE_FLOAT,
                                               GDEXTENSION_VARIANT_TYPE_STRING,
                                               GDEXTENSION_VARIANT_TYPE_RID,
                                               GDEXTENSION_VARIANT_TYPE_OBJECT,
                                               GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY,
                                               GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY,
                                               GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY,
                                               GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY,
                                               GDEXTENSION_VARIANT_TYPE_PACKED_VECTOR2_ARRAY};
  static_assert(std::size(kTypes) == std::variant_size_v<Value>);
  return kTypes[static_cast<size_t>(kind)];
}

Value read(Kind kind, const void* raw) {
  switch (kind) {
    case Kind::None: return {};
    case Kind::Bool: return *static_cast<const GDExtensionBool*>(raw) != 0;
    case Kind::Int: return *static_cast<const int64_t*>(raw);
    case Kind::Float: return *static_cast<const double*>(raw);
    case Kind::Text: return text_of(raw);
    case Kind::Rid: return Rid{*static_cast<const uint64_t*>(raw)};
    case Kind::Object: return *static_cast<void* const*>(raw);
    case Kind::Bytes: return bytes_of(raw);
    case Kind::Floats: return floats_of(raw);
    case Kind::Texts: return texts_of(raw);
    case Kind::Ints: return ints_of(raw);
    case Kind::Points: return points_of(raw);
  }
  return {};
}

void write(const Value& value, void* raw) {
  switch (kind_of(value)) {
    case Kind::None: return;
    case Kind::Bool: *static_cast<GDExtensionBool*>(raw) = std::get<bool>(value); return;
    case Kind::Int: *static_cast<int64_t*>(raw) = std::get<int64_t>(value); return;
    case Kind::Float: *static_cast<double*>(raw) = std::get<double>(value); return;
    case Kind::Text: make_string(raw, std::get<std::string>(value)); return;
    case Kind::Rid: *static_cast<uint64_t*>(raw) = std::get<Rid>(value).id; return;
    case Kind::Object: *static_cast<void**>(raw) = std::get<Object>(value); return;
    case Kind::Bytes: write_bytes(std::get<Bytes>(value), raw); return;
    case Kind::Floats: write_floats(std::get<Floats>(value), raw); return;
    case Kind::Texts: write_texts(std::get<Texts>(value), raw); return;
    case Kind::Ints: write_ints(std::get<Ints>(value), raw); return;
    case Kind::Points: write_points(std::get<Points>(value), raw); return;
  }
}

void destroy(Kind kind, void* raw) {
  switch (kind) {
    case Kind::Text: interface::destroy<GDEXTENSION_VARIANT_TYPE_STRING>(raw); return;
    case Kind::Bytes: interface::destroy<GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY>(raw); return;
    case Kind::Floats: interface::destroy<GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY>(raw); return;
    case Kind::Texts: interface::destroy<GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY>(raw); return;
    case Kind::Ints: interface::destroy<GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY>(raw); return;
    case Kind::Points: interface::destroy<GDEXTENSION_VARIANT_TYPE_PACKED_VECTOR2_ARRAY>(raw); return;
    default: return;  // it owns no memory
  }
}

void to_variant(Object object, void* variant) {
  get_variant_from_type_constructor(GDEXTENSION_VARIANT_TYPE_OBJECT)(variant, &object);
}

void to_variant(const Value& value, void* variant) {
  const Kind kind = kind_of(value);
  if (kind == Kind::None) return variant_new_nil(variant);
  Opaque raw;
  write(value, &raw);
  get_variant_from_type_constructor(type_of(kind))(variant, &raw);
  destroy(kind, &raw);
}

Value from_variant(Kind kind, const void* variant) {
  if (kind == Kind::None) return {};
  Opaque raw;
  get_variant_to_type_constructor(type_of(kind))(&raw, const_cast<void*>(variant));
  Value value = read(kind, &raw);
  destroy(kind, &raw);
  return value;
}

Value call(Object object, const char* method, std::span<const Value> arguments, Kind result_kind) {
  if (object == nullptr) return {};
  const Variants given(arguments);
  Opaque self, result;
  to_variant(object, &self);
  Name name(method);
  GDExtensionCallError problem{};
  variant_call(&self, name.get(), given.data(), given.size(), &result, &problem);
  Value value;
  if (problem.error == GDEXTENSION_CALL_OK && variant_get_type(&result) == type_of(result_kind))
    value = from_variant(result_kind, &result);
  variant_destroy(&result);
  variant_destroy(&self);
  return value;
}

Object singleton(const char* name) {
  Name as_name(name);
  return global_get_singleton(as_name.get());
}

Weak::Weak(Object object) : id_(object == nullptr ? 0 : object_get_instance_id(object)) {}
Object Weak::get() const { return id_ == 0 ? nullptr : object_get_instance_from_id(id_); }

bool is_on_render_thread() { return call_for<bool>(singleton("RenderingServer"), "is_on_render_thread"); }

void call_on_render_thread(std::function<void()> function) {
  GDExtensionCallableCustomInfo2 info{};
  info.callable_userdata = new std::function<void()>(std::move(function));
  info.is_valid_func = [](void*) -> GDExtensionBool { return 1; };
  info.call_func = [](void* userdata, const GDExtensionConstVariantPtr*, GDExtensionInt, GDExtensionVariantPtr,
                      GDExtensionCallError* problem) {
    problem->error = GDEXTENSION_CALL_OK;
    (*static_cast<std::function<void()>*>(userdata))();
  };
  info.free_func = [](void* userdata) { delete static_cast<std::function<void()>*>(userdata); };
  Opaque callable, variant, self, result;
  callable_custom_create2(&callable, &info);
  get_variant_from_type_constructor(GDEXTENSION_VARIANT_TYPE_CALLABLE)(&variant, &callable);
  interface::destroy<GDEXTENSION_VARIANT_TYPE_CALLABLE>(&callable);
  to_variant(singleton("RenderingServer"), &self);
  const GDExtensionConstVariantPtr arguments[] = {&variant};
  Name name("call_on_render_thread");
  GDExtensionCallError problem{};
  variant_call(&self, name.get(), arguments, 1, &result, &problem);
  variant_destroy(&result);
  variant_destroy(&self);
  variant_destroy(&variant);
}

}  // namespace godot
