// Values that cross between Godot and the extension, and calls of Godot's objects by the names of their methods.
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

// Names a resource of Godot's servers; 0: none.
struct Rid {
  uint64_t id = 0;
  friend bool operator==(const Rid&, const Rid&) = default;
};
using Object = GDExtensionObjectPtr;  // borrowed
using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;
struct Points {  // of two numbers each, x, y, x, y ...
  Floats numbers;
};
using Ints = std::vector<int32_t>;
using Texts = std::vector<std::string>;

// In the order of Value's alternatives.
enum class Kind : uint8_t { None, Bool, Int, Float, Text, Rid, Object, Bytes, Floats, Texts, Ints, Points };
using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string, Rid, Object, Bytes, Floats, Texts, Ints, Points>;
// Of packed arrays, into which Godot turns its untyped arrays.
inline bool is_packed(Kind kind) { return kind >= Kind::Bytes; }
inline Kind kind_of(const Value& value) { return static_cast<Kind>(value.index()); }

GDExtensionVariantType type_of(Kind kind);

// `raw` is laid out as Godot's typed calls pass a value.
Value read(Kind kind, const void* raw);
// Builds into memory that holds no value yet, of which Text and packed arrays must be destroyed.
void write(const Value& value, void* raw);
void destroy(Kind kind, void* raw);

// Builds into memory that holds no variant yet.
void to_variant(const Value& value, void* variant);
void to_variant(Object object, void* variant);
Value from_variant(Kind kind, const void* variant);  // which must be of this type, or turn into it

// Calls a method of an object. A call that Godot refuses, or whose result is of another kind, gives a Value that holds none.
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
// Null: there is none of that name.
Object singleton(const char* name);

// An object that scripts may free at any time.
class Weak {
 public:
  Weak() = default;
  explicit Weak(Object object);
  Object get() const;  // null: it is gone
  friend bool operator==(const Weak&, const Weak&) = default;

 private:
  uint64_t id_ = 0;
};

// Has Godot's render thread call the function, before it draws the next frame; at once on that thread itself. It is destroyed
// there, too, or where Godot's queue of calls ends.
void call_on_render_thread(std::function<void()> function);
bool is_on_render_thread();

}  // namespace godot
