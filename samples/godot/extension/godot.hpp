// Classes of the extension, as Godot is told of them: methods, signals, properties and messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <heed/status.hpp>

#include "values.hpp"

namespace godot {

// Must be called once, before all else. False: this Godot lacks a function that the extension needs; `missing` names it.
bool load(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, const char** missing);

struct Version {
  uint32_t major = 0, minor = 0;
};
Version version();

// Godot's enum Error, as far as the extension returns it.
enum class Error : int64_t {
  Ok = 0,
  Failed = 1,
  Unavailable = 2,
  Unconfigured = 3,
  OutOfMemory = 6,
  FileCannotBeRead = 14,
  InvalidParameter = 31,
  DoesNotExist = 33,
  Busy = 44
};

// A line in Godot's console. From any thread.
void error(const std::string& message);
void warning(const std::string& message);
heed::Log log();

// The system's path of one of user://, where files are also made, or of res:// if something is there; else the path as it is.
std::string system_path(const std::string& path);
bool is_file(const std::string& path);
// Ends a message that something could not be opened: says that nothing is at the path, and what to do. Empty: something is there.
std::string why_no_file(const std::string& path);

// What a file holds, also one of res:// inside of an exported game's .pck. Nothing: it cannot be read.
Bytes read_file(const std::string& path);

// Base of what stands behind an object of Godot's.
class Instance {
 public:
  explicit Instance(Object object);
  virtual ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  virtual void ready() {}    // a node came into the tree
  virtual void process() {}  // once in each frame, for nodes that asked for it

  // Null: the object is none of the extension's, or it is gone.
  static Instance* of(Object object);

 protected:
  // False: a script that handled the signal freed the object, and this instance is gone.
  [[nodiscard]] bool emit(const char* signal, std::initializer_list<Value> values) const;
  void set_process(bool on) const;
  bool has_parent() const;  // of nodes

 private:
  Object object_;
};

// Base of nodes that have process() called in each frame. All calls belong to the thread that made the node, and when it is in the tree
// to the tree's, so that threads may load scenes.
class Node : public Instance {
 public:
  explicit Node(Object object) : Instance(object), thread_(std::this_thread::get_id()) {}
  void ready() override;

 protected:
  // True, with an error in the console: the caller is another thread. `method` is "Class.method".
  bool refuse_thread(const char* method) const;

 private:
  std::thread::id thread_;
};

struct Argument {
  const char* name;
  Kind kind = Kind::None;
  const char* class_name = "";  // of objects, and of enumerations that are integers
};

struct Method {
  const char* name;
  std::vector<Argument> arguments;
  Argument result;
  void (*call)(Instance& self, Value* arguments, Value* result);
  Value without_memory = {};  // what it returns where memory is not to be had
};

struct Signal {
  const char* name;
  std::vector<Argument> arguments;
};

// Godot's scripts read and write it by two methods.
struct Property {
  const char* name;
  Method setter, getter;
};

// Godot keeps a pointer to the class: it must live as long as the library.
struct Class {
  const char* name;
  const char* parent;
  Instance* (*create)(Object object);
  std::vector<Method> methods;
  std::vector<Signal> signals;
  std::vector<Property> properties;
};

void register_class(const Class& description);
void unregister_class(const Class& description);
// What the editor's help shows: a file of Godot's XML for classes.
void load_documentation(const char* xml);

// --- Members of classes as methods: their types say what Godot is told.

template <typename C>
Instance* create(Object object) {
  return new C(object);
}

namespace detail {

template <typename T>
using Stored = std::conditional_t<std::is_enum_v<T>, int64_t, T>;
template <typename T>
Argument argument(const char* name, const char* class_name = "") {
  if constexpr (std::is_void_v<T>)
    return {name, Kind::None};
  else
    return {name, kind_of(Value(Stored<T>{})), std::is_same_v<T, Error> ? "Error" : class_name};
}

template <auto member, typename C, typename R, typename... A>
struct Member {
  template <size_t... i>
  static void call(C& self, [[maybe_unused]] Value* with, [[maybe_unused]] Value* to, std::index_sequence<i...>) {
    if constexpr (std::is_void_v<R>)
      (self.*member)(std::get<std::remove_cvref_t<A>>(std::move(with[i]))...);
    else
      *to = static_cast<Stored<std::remove_cvref_t<R>>>(
          (self.*member)(std::get<std::remove_cvref_t<A>>(std::move(with[i]))...));
  }
  // `named`: the arguments, with the classes of those that are objects.
  static Method method(const char* name, const std::vector<Argument>& named) {
    const Argument kinds[] = {argument<std::remove_cvref_t<A>>("")..., {}};
    Method result{name, {}, argument<std::remove_cvref_t<R>>(""), [](Instance& self, Value* with, Value* to) {
                    call(static_cast<C&>(self), with, to, std::index_sequence_for<A...>());
                  }};
    if constexpr (std::is_same_v<R, Error>)
      result.without_memory = static_cast<int64_t>(Error::OutOfMemory);
    else if constexpr (!std::is_void_v<R>)
      result.without_memory = Stored<std::remove_cvref_t<R>>{};
    for (size_t i = 0; i < sizeof...(A); ++i)
      result.arguments.push_back({named[i].name, kinds[i].kind, named[i].class_name});
    return result;
  }
};

template <auto member, typename C, typename R, typename... A>
Member<member, C, R, A...> member_of(R (C::*)(A...));
template <auto member, typename C, typename R, typename... A>
Member<member, C, R, A...> member_of(R (C::*)(A...) const);

}  // namespace detail

// As many arguments as the member function has.
template <auto member>
Method method(const char* name, const std::vector<Argument>& arguments = {}) {
  return decltype(detail::member_of<member>(member))::method(name, arguments);
}

template <auto set, auto get>
Property property(const char* name, const char* setter, const char* getter) {
  return {name, method<set>(setter, {{"value"}}), method<get>(getter)};
}

}  // namespace godot
