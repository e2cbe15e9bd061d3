// Registers the extension's classes with Godot: methods, signals, properties and messages.
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

// Must be called once, before everything else. Returns false if this Godot lacks a needed function, which `missing` names.
bool load(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, const char** missing);

struct Version {
  uint32_t major = 0, minor = 0;
};
Version version();

// The values of Godot's enum Error that the extension returns.
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

// Prints a line in Godot's console. From any thread.
void error(const std::string& message);
void warning(const std::string& message);
heed::Log log();

// The system's path for a user:// path, or for a res:// path if it exists there; else the path unchanged.
std::string system_path(const std::string& path);
bool is_file(const std::string& path);
// The end of an error message for a path: says that nothing is there, and what to do. Empty if something is there.
std::string why_no_file(const std::string& path);

// A file's contents, also of res:// inside an exported game's .pck. Empty optional: it cannot be read.
Bytes read_file(const std::string& path);

// Base class of the instances behind Godot's objects.
class Instance {
 public:
  explicit Instance(Object object);
  virtual ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  virtual void ready() {}    // a node has entered the tree
  virtual void process() {}  // once in each frame, for nodes that requested it

  // Returns null if the object is not the extension's, or has been freed.
  static Instance* of(Object object);

 protected:
  // Returns false if a script that handled the signal freed the object, and with it this instance.
  [[nodiscard]] bool emit(const char* signal, std::initializer_list<Value> values) const;
  void set_process(bool on) const;
  bool has_parent() const;  // for nodes only

 private:
  Object object_;
};

// Base class of nodes whose process() is called in each frame. All calls belong to the thread that made the node, and once it is in the
// tree to the tree's, so that threads may load scenes.
class Node : public Instance {
 public:
  explicit Node(Object object) : Instance(object), thread_(std::this_thread::get_id()) {}
  void ready() override;

 protected:
  // Returns true, with an error in the console, if the caller is another thread. `method` is "Class.method".
  bool refuse_thread(const char* method) const;

 private:
  std::thread::id thread_;
};

struct Argument {
  const char* name;
  Kind kind = Kind::None;
  const char* class_name = "";  // class of objects, and of enumerations that are integers
};

struct Method {
  const char* name;
  std::vector<Argument> arguments;
  Argument result;
  void (*call)(Instance& self, Value* arguments, Value* result);
  Value without_memory = {};  // result if memory is exhausted
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
// The editor's help: a file of Godot's XML for classes.
void load_documentation(const char* xml);

// --- Class members as methods: their C++ types determine what Godot sees.

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
  // `named`: argument names, with the classes of object arguments.
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
