// Converts values between Godot and the extension, and calls methods of Godot's objects by name.
#pragma once

#include <gdextension_interface.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace godot {

// The id of a resource of Godot's servers; 0: none.
struct Rid {
  uint64_t id = 0;
  friend bool operator==(const Rid&, const Rid&) = default;
};
using Object = GDExtensionObjectPtr;  // borrowed
using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;
struct Points {  // two numbers each, x, y, x, y ...
  Floats numbers;
};
using Ints = std::vector<int32_t>;
using Texts = std::vector<std::string>;

// In the order of Value's alternatives.
enum class Kind : uint8_t { None, Bool, Int, Float, Text, Rid, Object, Bytes, Floats, Texts, Ints, Points };
using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string, Rid, Object, Bytes, Floats, Texts, Ints, Points>;
// Element types of packed arrays, into which Godot converts its untyped arrays.
inline bool is_packed(Kind kind) { return kind >= Kind::Bytes; }
inline Kind kind_of(const Value& value) { return static_cast<Kind>(value.index()); }

GDExtensionVariantType type_of(Kind kind);

// `raw` has the layout of Godot's typed calls.
Value read(Kind kind, const void* raw);
// Constructs a value in uninitialized memory. Text and packed arrays must be destroyed.
void write(const Value& value, void* raw);
void destroy(Kind kind, void* raw);

// Constructs a variant in uninitialized memory.
void to_variant(const Value& value, void* variant);
void to_variant(Object object, void* variant);
Value from_variant(Kind kind, const void* variant);  // must be of this type, or convertible to it

// Calls a method of an object. Returns a Value without contents if Godot refuses the call, or its result is of another kind.
Value call(Object object, const char* method, std::span<const Value> arguments, Kind result);
inline Value call(Object object, const char* method, std::initializer_list<Value> arguments = {},
                  Kind result = Kind::None) {
  return call(object, method, std::span(arguments.begin(), arguments.size()), result);
}
template <typename T>
T call_for(Object object, const char* method, std::initializer_list<Value> arguments = {}) {
  const Value value = call(object, method, arguments, kind_of(Value(T{})));
  const T* result = std::get_if<T>(&value);
  return result == nullptr ? T{} : *result;
}
// Returns null if there is none of that name.
Object singleton(const char* name);

// An object that scripts may free at any time.
class Weak {
 public:
  Weak() = default;
  explicit Weak(Object object);
  Object get() const;  // null: it was freed
  friend bool operator==(const Weak&, const Weak&) = default;

 private:
  uint64_t id_ = 0;
};

// Makes Godot's render thread call the function before it draws the next frame, or calls it at once on that thread itself. The function is
// destroyed there, too, or when Godot's queue of calls ends.
void call_on_render_thread(std::function<void()> function);
bool is_on_render_thread();

}  // namespace godot
