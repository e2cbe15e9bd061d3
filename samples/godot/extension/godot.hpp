// The extension's view of Godot's C interface: values, methods, signals and messages. The classes of the extension
// know nothing else of Godot.
#pragma once

#include <gdextension_interface.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/status.hpp>

namespace godot {

// Must be called once, before all else. False: this Godot lacks a function that the extension needs; `missing` names it.
bool load(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, const char** missing);

// Godot's enum Error, as far as the extension returns it.
enum Error : int64_t {
  Ok = 0,
  Failed = 1,
  Unavailable = 2,
  Unconfigured = 3,
  FileCannotBeRead = 14,
  InvalidParameter = 31,
  Busy = 44
};

// A line in Godot's console.
void error(const std::string& message);
heed::Log log();

enum class Kind : uint8_t { None, Bool, Int, Text, Object };

// A value that crosses between Godot and the extension. An object is borrowed.
struct Value {
  int64_t integer = 0;
  std::string text;
  GDExtensionObjectPtr object = nullptr;
};

// Base of what stands behind an object of Godot's.
class Instance {
 public:
  explicit Instance(GDExtensionObjectPtr object);
  virtual ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  virtual void ready() {}    // a node came into the tree
  virtual void process() {}  // once in each frame, for nodes that asked for it

  // Null: the object is none of the extension's, or it is gone.
  static Instance* of(GDExtensionObjectPtr object);

 protected:
  // False: a script that handled the signal freed the object, and this instance is gone.
  [[nodiscard]] bool emit(const char* signal, std::span<const std::string> texts) const;
  void set_process(bool on) const;

 private:
  GDExtensionObjectPtr object_;
};

struct Argument {
  const char* name;
  Kind kind;
  const char* class_name = "";  // of objects
};

struct Method {
  const char* name;
  std::vector<Argument> arguments;
  Kind result;
  void (*call)(Instance& self, const Value* arguments, Value* result);
};

struct Signal {
  const char* name;
  std::vector<Argument> arguments;  // texts
};

// Godot's scripts read and write it by two methods.
struct Property {
  const char* name;
  Kind kind;
  const char* setter;
  const char* getter;
};

// Godot keeps a pointer to the class: it must live as long as the library.
struct Class {
  const char* name;
  const char* parent;
  Instance* (*create)(GDExtensionObjectPtr object);
  std::vector<Method> methods;
  std::vector<Signal> signals;
  std::vector<Property> properties;
};

void register_class(const Class& description);
void unregister_class(const Class& description);

}  // namespace godot
