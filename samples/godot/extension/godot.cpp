#include "godot.hpp"

#include <mutex>
#include <unordered_map>

namespace godot {
namespace {

// Sizes of Godot's types where its floats have 32 bits and pointers 64.
struct Opaque8 {
  alignas(8) unsigned char bytes[8];
};
struct Opaque24 {
  alignas(8) unsigned char bytes[24];
};

#define HEED_GODOT_FUNCTIONS(X)                                                                           \
  X(GDExtensionInterfaceStringNameNewWithUtf8Chars, string_name_new_with_utf8_chars)                      \
  X(GDExtensionInterfaceStringNewWithUtf8CharsAndLen, string_new_with_utf8_chars_and_len)                 \
  X(GDExtensionInterfaceStringToUtf8Chars, string_to_utf8_chars)                                          \
  X(GDExtensionInterfaceVariantGetPtrDestructor, variant_get_ptr_destructor)                              \
  X(GDExtensionInterfaceGetVariantFromTypeConstructor, get_variant_from_type_constructor)                 \
  X(GDExtensionInterfaceGetVariantToTypeConstructor, get_variant_to_type_constructor)                     \
  X(GDExtensionInterfaceVariantGetType, variant_get_type)                                                 \
  X(GDExtensionInterfaceVariantDestroy, variant_destroy)                                                  \
  X(GDExtensionInterfaceVariantCall, variant_call)                                                        \
  X(GDExtensionInterfaceClassdbConstructObject2, classdb_construct_object2)                               \
  X(GDExtensionInterfaceObjectSetInstance, object_set_instance)                                           \
  X(GDExtensionInterfaceClassdbRegisterExtensionClass4, classdb_register_extension_class4)                \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassMethod, classdb_register_extension_class_method)     \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassSignal, classdb_register_extension_class_signal)     \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassProperty, classdb_register_extension_class_property) \
  X(GDExtensionInterfaceClassdbUnregisterExtensionClass, classdb_unregister_extension_class)              \
  X(GDExtensionInterfacePrintErrorWithMessage, print_error_with_message)                                  \
  X(GDExtensionInterfacePrintWarningWithMessage, print_warning_with_message)
#define HEED_GODOT_DECLARE(type, name) type name = nullptr;
HEED_GODOT_FUNCTIONS(HEED_GODOT_DECLARE)
#undef HEED_GODOT_DECLARE

GDExtensionClassLibraryPtr library_token = nullptr;

template <GDExtensionVariantType type>
GDExtensionPtrDestructor destructor() {
  static const GDExtensionPtrDestructor function = variant_get_ptr_destructor(type);
  return function;
}

class Name {
 public:
  explicit Name(const char* text) { string_name_new_with_utf8_chars(&opaque_, text); }
  ~Name() { destructor<GDEXTENSION_VARIANT_TYPE_STRING_NAME>()(&opaque_); }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  void* get() { return &opaque_; }

 private:
  Opaque8 opaque_;
};

void make_string(void* place, const std::string& text) {
  string_new_with_utf8_chars_and_len(place, text.data(), static_cast<GDExtensionInt>(text.size()));
}

void destroy_string(void* place) { destructor<GDEXTENSION_VARIANT_TYPE_STRING>()(place); }

std::string text_of(const void* string) {
  std::string text(static_cast<size_t>(string_to_utf8_chars(string, nullptr, 0)), '\0');
  string_to_utf8_chars(string, text.data(), static_cast<GDExtensionInt>(text.size()));
  return text;
}

GDExtensionVariantType type_of(Kind kind) {
  switch (kind) {
    case Kind::None: return GDEXTENSION_VARIANT_TYPE_NIL;
    case Kind::Bool: return GDEXTENSION_VARIANT_TYPE_BOOL;
    case Kind::Int: return GDEXTENSION_VARIANT_TYPE_INT;
    case Kind::Text: return GDEXTENSION_VARIANT_TYPE_STRING;
    case Kind::Object: return GDEXTENSION_VARIANT_TYPE_OBJECT;
  }
  return GDEXTENSION_VARIANT_TYPE_NIL;
}

// `raw` is laid out as Godot's typed calls pass a value.
Value read(Kind kind, const void* raw) {
  Value value;
  if (kind == Kind::Bool) value.integer = *static_cast<const GDExtensionBool*>(raw);
  if (kind == Kind::Int) value.integer = *static_cast<const int64_t*>(raw);
  if (kind == Kind::Text) value.text = text_of(raw);
  if (kind == Kind::Object) value.object = *static_cast<void* const*>(raw);
  return value;
}

// Builds into memory that holds no value yet.
void write(Kind kind, const Value& value, void* raw) {
  if (kind == Kind::Bool) *static_cast<GDExtensionBool*>(raw) = value.integer != 0;
  if (kind == Kind::Int) *static_cast<int64_t*>(raw) = value.integer;
  if (kind == Kind::Text) make_string(raw, value.text);
  if (kind == Kind::Object) *static_cast<void**>(raw) = value.object;
}

void to_variant(Kind kind, const Value& value, void* variant) {
  if (kind == Kind::None) return;  // what Godot gives is nil already
  Opaque8 raw{};
  write(kind, value, &raw);
  get_variant_from_type_constructor(type_of(kind))(variant, &raw);
  if (kind == Kind::Text) destroy_string(&raw);
}

Value from_variant(Kind kind, const void* variant) {
  Opaque8 raw{};
  get_variant_to_type_constructor(type_of(kind))(&raw, const_cast<void*>(variant));
  Value value = read(kind, &raw);
  if (kind == Kind::Text) destroy_string(&raw);
  return value;
}

void call(void* userdata, GDExtensionClassInstancePtr self, const GDExtensionConstVariantPtr* given,
          GDExtensionInt count, GDExtensionVariantPtr result, GDExtensionCallError* problem) {
  const Method& method = *static_cast<const Method*>(userdata);
  const auto wanted = static_cast<GDExtensionInt>(method.arguments.size());
  problem->error = GDEXTENSION_CALL_OK;
  if (count != wanted) {
    problem->error =
        count < wanted ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
    problem->expected = static_cast<int32_t>(wanted);
    return;
  }
  std::vector<Value> arguments;
  for (size_t i = 0; i < method.arguments.size(); ++i) {
    const Kind kind = method.arguments[i].kind;
    const GDExtensionVariantType type = variant_get_type(given[i]);
    const bool is_null = kind == Kind::Object && type == GDEXTENSION_VARIANT_TYPE_NIL;
    if (type != type_of(kind) && !is_null) {
      problem->error = GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT;
      problem->argument = static_cast<int32_t>(i);
      problem->expected = type_of(kind);
      return;
    }
    arguments.push_back(is_null ? Value{} : from_variant(kind, given[i]));
  }
  Value value;
  method.call(*static_cast<Instance*>(self), arguments.data(), &value);
  to_variant(method.result, value, result);
}

void typed_call(void* userdata, GDExtensionClassInstancePtr self, const GDExtensionConstTypePtr* given,
                GDExtensionTypePtr result) {
  const Method& method = *static_cast<const Method*>(userdata);
  std::vector<Value> arguments;
  for (size_t i = 0; i < method.arguments.size(); ++i) arguments.push_back(read(method.arguments[i].kind, given[i]));
  Value value;
  method.call(*static_cast<Instance*>(self), arguments.data(), &value);
  if (method.result == Kind::Text) destroy_string(result);  // Godot passes an empty one
  write(method.result, value, result);
}

// Properties point at names, so that all of them stay in place until Godot has copied them.
class Properties {
 public:
  explicit Properties(std::span<const Argument> arguments) {
    parts_.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      Parts& parts = parts_.emplace_back();
      string_name_new_with_utf8_chars(&parts.name, argument.name);
      string_name_new_with_utf8_chars(&parts.class_name, argument.class_name);
      make_string(&parts.hint, "");
      infos_.push_back({type_of(argument.kind), &parts.name, &parts.class_name, 0, &parts.hint, 6});
      metadata_.push_back(GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE);
    }
  }
  ~Properties() {
    for (Parts& parts : parts_) {
      destructor<GDEXTENSION_VARIANT_TYPE_STRING_NAME>()(&parts.name);
      destructor<GDEXTENSION_VARIANT_TYPE_STRING_NAME>()(&parts.class_name);
      destroy_string(&parts.hint);
    }
  }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  GDExtensionPropertyInfo* infos() { return infos_.data(); }
  GDExtensionClassMethodArgumentMetadata* metadata() { return metadata_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(infos_.size()); }

 private:
  struct Parts {
    Opaque8 name, class_name, hint;
  };
  std::vector<Parts> parts_;
  std::vector<GDExtensionPropertyInfo> infos_;
  std::vector<GDExtensionClassMethodArgumentMetadata> metadata_;
};

// All instances, by object. Godot may make and free objects on any thread.
std::mutex instances_mutex;
std::unordered_map<GDExtensionObjectPtr, Instance*>& instances() {
  static std::unordered_map<GDExtensionObjectPtr, Instance*> all;
  return all;
}

GDExtensionObjectPtr create(void* userdata, GDExtensionBool) {
  const Class& description = *static_cast<const Class*>(userdata);
  Name parent(description.parent), name(description.name);
  const GDExtensionObjectPtr object = classdb_construct_object2(parent.get());
  object_set_instance(object, name.get(), description.create(object));
  return object;
}

void destroy(void*, GDExtensionClassInstancePtr instance) { delete static_cast<Instance*>(instance); }

void notify(GDExtensionClassInstancePtr instance, int32_t what, GDExtensionBool) {
  constexpr int32_t kReady = 13, kProcess = 17;  // Node.NOTIFICATION_READY, NOTIFICATION_PROCESS
  if (what == kReady) static_cast<Instance*>(instance)->ready();
  if (what == kProcess) static_cast<Instance*>(instance)->process();
}

void call_on(GDExtensionObjectPtr object, const char* method, std::span<Opaque24> arguments) {
  Opaque24 self, result;
  get_variant_from_type_constructor(GDEXTENSION_VARIANT_TYPE_OBJECT)(&self, &object);
  std::vector<GDExtensionConstVariantPtr> pointers;
  for (Opaque24& argument : arguments) pointers.push_back(&argument);
  Name name(method);
  GDExtensionCallError problem{};
  variant_call(&self, name.get(), pointers.data(), static_cast<GDExtensionInt>(pointers.size()), &result, &problem);
  variant_destroy(&result);
  variant_destroy(&self);
  for (Opaque24& argument : arguments) variant_destroy(&argument);
}

}  // namespace

bool load(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library, const char** missing) {
  library_token = library;
#define HEED_GODOT_LOAD(type, name)          \
  name = reinterpret_cast<type>(get(#name)); \
  if (name == nullptr) {                     \
    *missing = #name;                        \
    return false;                            \
  }
  HEED_GODOT_FUNCTIONS(HEED_GODOT_LOAD)
#undef HEED_GODOT_LOAD
  return true;
}

void error(const std::string& message) { print_error_with_message("heed", message.c_str(), "heed", "", 0, 0); }

heed::Log log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            if (level == heed::LogLevel::Error)
              error(message);
            else
              print_warning_with_message("heed", message, "heed", "", 0, 0);
          },
          nullptr, heed::LogLevel::Warning};
}

Instance::Instance(GDExtensionObjectPtr object) : object_(object) {
  const std::lock_guard lock(instances_mutex);
  instances()[object] = this;
}

Instance::~Instance() {
  const std::lock_guard lock(instances_mutex);
  instances().erase(object_);
}

Instance* Instance::of(GDExtensionObjectPtr object) {
  const std::lock_guard lock(instances_mutex);
  const auto found = instances().find(object);
  return found == instances().end() ? nullptr : found->second;
}

bool Instance::emit(const char* signal, std::span<const std::string> texts) const {
  std::vector<Opaque24> arguments(1 + texts.size());
  Name name(signal);
  get_variant_from_type_constructor(GDEXTENSION_VARIANT_TYPE_STRING_NAME)(&arguments[0], name.get());
  for (size_t i = 0; i < texts.size(); ++i) {
    Value value;
    value.text = texts[i];
    to_variant(Kind::Text, value, &arguments[i + 1]);
  }
  const GDExtensionObjectPtr object = object_;
  call_on(object, "emit_signal", arguments);
  return of(object) == this;
}

void Instance::set_process(bool on) const {
  Opaque24 argument;
  Value value;
  value.integer = on ? 1 : 0;
  to_variant(Kind::Bool, value, &argument);
  call_on(object_, "set_process", {&argument, 1});
}

void register_class(const Class& description) {
  Name name(description.name), parent(description.parent);
  GDExtensionClassCreationInfo4 info{};
  info.is_exposed = 1;
  info.notification_func = notify;
  info.create_instance_func = create;
  info.free_instance_func = destroy;
  info.class_userdata = const_cast<Class*>(&description);
  classdb_register_extension_class4(library_token, name.get(), parent.get(), &info);
  for (const Method& method : description.methods) {
    Name method_name(method.name);
    const Argument result[] = {{"", method.result}};
    Properties arguments(method.arguments), results(result);
    GDExtensionClassMethodInfo about{};
    about.name = method_name.get();
    about.method_userdata = const_cast<Method*>(&method);
    about.call_func = call;
    about.ptrcall_func = typed_call;
    about.method_flags = GDEXTENSION_METHOD_FLAGS_DEFAULT;
    about.has_return_value = method.result != Kind::None;
    about.return_value_info = results.infos();
    about.return_value_metadata = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
    about.argument_count = arguments.size();
    about.arguments_info = arguments.infos();
    about.arguments_metadata = arguments.metadata();
    classdb_register_extension_class_method(library_token, name.get(), &about);
  }
  for (const Signal& signal : description.signals) {
    Name signal_name(signal.name);
    Properties arguments(signal.arguments);
    classdb_register_extension_class_signal(library_token, name.get(), signal_name.get(), arguments.infos(),
                                            arguments.size());
  }
  for (const Property& property : description.properties) {
    const Argument as_argument[] = {{property.name, property.kind}};
    Properties about(as_argument);
    Name setter(property.setter), getter(property.getter);
    classdb_register_extension_class_property(library_token, name.get(), about.infos(), setter.get(), getter.get());
  }
}

void unregister_class(const Class& description) {
  Name name(description.name);
  classdb_unregister_extension_class(library_token, name.get());
}

}  // namespace godot
