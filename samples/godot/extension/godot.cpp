#include "godot.hpp"

#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <unordered_map>

#include "interface.hpp"

namespace godot {
namespace interface {
#define HEED_GODOT_DEFINE(type, name) type name = nullptr;
HEED_GODOT_FUNCTIONS(HEED_GODOT_DEFINE)
#undef HEED_GODOT_DEFINE
}  // namespace interface
using namespace interface;
namespace {

GDExtensionClassLibraryPtr library_token = nullptr;

// Checks at each call what Godot's script compiler does not check.
bool fits(const Method& method, const GDExtensionConstVariantPtr* given, GDExtensionInt count,
          GDExtensionCallError* problem) {
  const auto wanted = static_cast<GDExtensionInt>(method.arguments.size());
  problem->error = GDEXTENSION_CALL_OK;
  if (count != wanted) {
    problem->error =
        count < wanted ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
    problem->expected = static_cast<int32_t>(wanted);
    return false;
  }
  for (size_t i = 0; i < method.arguments.size(); ++i) {
    const Kind kind = method.arguments[i].kind;
    const GDExtensionVariantType type = variant_get_type(given[i]);
    const bool is_null = kind == Kind::Object && type == GDEXTENSION_VARIANT_TYPE_NIL;
    const bool is_whole = kind == Kind::Float && type == GDEXTENSION_VARIANT_TYPE_INT;
    const bool is_list = is_packed(kind) && type == GDEXTENSION_VARIANT_TYPE_ARRAY;
    if (type == type_of(kind) || is_null || is_whole || is_list) continue;
    problem->error = GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT;
    problem->argument = static_cast<int32_t>(i);
    problem->expected = type_of(kind);
    return false;
  }
  return true;
}

Value argument_of(Kind kind, GDExtensionConstVariantPtr given) {
  const GDExtensionVariantType type = variant_get_type(given);
  if (type == type_of(kind) || is_packed(kind)) return from_variant(kind, given);
  if (kind == Kind::Object) return Object(nullptr);
  return static_cast<double>(std::get<int64_t>(from_variant(Kind::Int, given)));
}

// Calls with the arguments that `argument` reads, and passes the result to `deliver`. An exception would end the game: heed throws none,
// but a script may request impossible sizes.
template <typename Read, typename Deliver>
void answer(const Method& method, GDExtensionClassInstancePtr self, const Read& argument, const Deliver& deliver) {
  try {
    std::vector<Value> arguments;
    for (size_t i = 0; i < method.arguments.size(); ++i) arguments.push_back(argument(method.arguments[i].kind, i));
    Value value;
    method.call(*static_cast<Instance*>(self), arguments.data(), &value);
    deliver(value);
  } catch (const std::bad_alloc&) {
    error(std::string(method.name) + ": there is not enough memory for such sizes");
    deliver(method.without_memory);
  }
}

void call(void* userdata, GDExtensionClassInstancePtr self, const GDExtensionConstVariantPtr* given,
          GDExtensionInt count, GDExtensionVariantPtr result, GDExtensionCallError* problem) {
  const Method& method = *static_cast<const Method*>(userdata);
  if (!fits(method, given, count, problem)) return;
  answer(
      method, self, [&](Kind kind, size_t i) { return argument_of(kind, given[i]); },
      [&](const Value& value) {
        if (kind_of(value) != Kind::None) to_variant(value, result);  // Godot's result is nil already
      });
}

void typed_call(void* userdata, GDExtensionClassInstancePtr self, const GDExtensionConstTypePtr* given,
                GDExtensionTypePtr result) {
  const Method& method = *static_cast<const Method*>(userdata);
  answer(
      method, self, [&](Kind kind, size_t i) { return read(kind, given[i]); },
      [&](const Value& value) {
        destroy(method.result.kind, result);  // Godot passes an empty one
        write(value, result);
      });
}

// Properties point at names, which must stay in place until Godot has copied them.
class Properties {
 public:
  explicit Properties(std::span<const Argument> arguments) {
    constexpr uint32_t kDefault = 6, kClassIsEnum = 1 << 16;  // PropertyUsageFlags
    parts_.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      Parts& parts = parts_.emplace_back();
      string_name_new_with_utf8_chars(&parts.name, argument.name);
      string_name_new_with_utf8_chars(&parts.class_name, argument.class_name);
      write(std::string(), &parts.hint);
      const bool is_enum = argument.kind == Kind::Int && argument.class_name[0] != '\0';
      infos_.push_back({type_of(argument.kind), &parts.name, &parts.class_name, 0, &parts.hint,
                        is_enum ? kDefault | kClassIsEnum : kDefault});
      metadata_.push_back(GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE);
    }
  }
  ~Properties() {
    for (Parts& parts : parts_) {
      interface::destroy<GDEXTENSION_VARIANT_TYPE_STRING_NAME>(&parts.name);
      interface::destroy<GDEXTENSION_VARIANT_TYPE_STRING_NAME>(&parts.class_name);
      destroy(Kind::Text, &parts.hint);
    }
  }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  GDExtensionPropertyInfo* infos() { return infos_.data(); }
  GDExtensionClassMethodArgumentMetadata* metadata() { return metadata_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(infos_.size()); }

 private:
  struct Parts {
    Opaque name, class_name, hint;
  };
  std::vector<Parts> parts_;
  std::vector<GDExtensionPropertyInfo> infos_;
  std::vector<GDExtensionClassMethodArgumentMetadata> metadata_;
};

// All instances, by object. Godot may create and free objects on any thread.
std::mutex instances_mutex;
std::unordered_map<Object, Instance*>& instances() {
  static std::unordered_map<Object, Instance*> all;
  return all;
}

Object create_object(void* userdata, GDExtensionBool) {
  const Class& description = *static_cast<const Class*>(userdata);
  Name parent(description.parent), name(description.name);
  const Object object = classdb_construct_object2(parent.get());
  object_set_instance(object, name.get(), description.create(object));
  return object;
}

void destroy_instance(void*, GDExtensionClassInstancePtr instance) { delete static_cast<Instance*>(instance); }

void notify(GDExtensionClassInstancePtr instance, int32_t what, GDExtensionBool) {
  constexpr int32_t kReady = 13, kProcess = 17;  // Node.NOTIFICATION_READY, NOTIFICATION_PROCESS
  if (what == kReady) static_cast<Instance*>(instance)->ready();
  if (what == kProcess) static_cast<Instance*>(instance)->process();
}

void register_method(Name& class_name, const Method& method) {
  Name method_name(method.name);
  Properties arguments(method.arguments), results({&method.result, 1});
  GDExtensionClassMethodInfo about{};
  about.name = method_name.get();
  about.method_userdata = const_cast<Method*>(&method);
  about.call_func = call;
  about.ptrcall_func = typed_call;
  about.method_flags = GDEXTENSION_METHOD_FLAGS_DEFAULT;
  about.has_return_value = method.result.kind != Kind::None;
  about.return_value_info = results.infos();
  about.return_value_metadata = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
  about.argument_count = arguments.size();
  about.arguments_info = arguments.infos();
  about.arguments_metadata = arguments.metadata();
  classdb_register_extension_class_method(library_token, class_name.get(), &about);
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

Version version() {
  GDExtensionGodotVersion godot{};
  get_godot_version(&godot);
  return {godot.major, godot.minor};
}

void error(const std::string& message) { print_error_with_message("heed", message.c_str(), "heed", "", 0, 0); }
void warning(const std::string& message) { print_warning_with_message("heed", message.c_str(), "heed", "", 0, 0); }

heed::Log log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            level == heed::LogLevel::Error ? error(message) : warning(message);
          },
          nullptr, heed::LogLevel::Warning};
}

namespace {
std::filesystem::path named(const std::string& path) { return std::u8string(path.begin(), path.end()); }
bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(named(path), ignored);
}
}  // namespace

std::string system_path(const std::string& path) {
  if (!path.starts_with("res://") && !path.starts_with("user://")) return path;
  const auto found = call_for<std::string>(singleton("ProjectSettings"), "globalize_path", {path});
  // In an exported game Godot only removes "res://", which leaves a path relative to the current folder.
  return named(found).is_absolute() && (path.starts_with("user://") || is_there(found)) ? found : path;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(named(path), ignored);
}

std::string why_no_file(const std::string& path) {
  if (is_there(path)) return "";
  const std::string nothing = "; nothing is at \"" + path + "\"";
  if (!path.starts_with("res://")) return nothing;
  return nothing +
         " as a file of its own. In an exported game res:// is inside the .pck, which heed does not read: keep the "
         "file beside "
         "the program, and open OS.get_executable_path().get_base_dir().path_join(\"its name\")";
}

Bytes read_file(const std::string& path) {
  return call_for<Bytes>(singleton("ClassDB"), "class_call_static",
                         {std::string("FileAccess"), std::string("get_file_as_bytes"), path});
}

Instance::Instance(Object object) : object_(object) {
  const std::lock_guard lock(instances_mutex);
  instances()[object] = this;
}

Instance::~Instance() {
  const std::lock_guard lock(instances_mutex);
  instances().erase(object_);
}

Instance* Instance::of(Object object) {
  const std::lock_guard lock(instances_mutex);
  const auto found = instances().find(object);
  return found == instances().end() ? nullptr : found->second;
}

bool Instance::emit(const char* signal, std::initializer_list<Value> values) const {
  std::vector<Value> arguments{std::string(signal)};
  arguments.insert(arguments.end(), values);
  const Object object = object_;
  godot::call(object, "emit_signal", arguments, Kind::None);
  return of(object) == this;
}

void Instance::set_process(bool on) const { godot::call(object_, "set_process", {on}); }

bool Instance::has_parent() const { return godot::call_for<Object>(object_, "get_parent") != nullptr; }

void Node::ready() {
  thread_ = std::this_thread::get_id();
  set_process(true);
}

bool Node::refuse_thread(const char* method) const {
  if (std::this_thread::get_id() == thread_) return false;
  error(std::string(method) + ": called on another thread than the node's; use call_deferred()");
  return true;
}

void register_class(const Class& description) {
  Name name(description.name), parent(description.parent);
  GDExtensionClassCreationInfo4 info{};
  info.is_exposed = 1;
  info.notification_func = notify;
  info.create_instance_func = create_object;
  info.free_instance_func = destroy_instance;
  info.class_userdata = const_cast<Class*>(&description);
  classdb_register_extension_class4(library_token, name.get(), parent.get(), &info);
  for (const Method& method : description.methods) register_method(name, method);
  for (const Signal& signal : description.signals) {
    Name signal_name(signal.name);
    Properties arguments(signal.arguments);
    classdb_register_extension_class_signal(library_token, name.get(), signal_name.get(), arguments.infos(),
                                            arguments.size());
  }
  for (const Property& property : description.properties) {
    register_method(name, property.setter);
    register_method(name, property.getter);
    const Argument as_argument[] = {{property.name, property.getter.result.kind}};
    Properties about(as_argument);
    Name setter(property.setter.name), getter(property.getter.name);
    classdb_register_extension_class_property(library_token, name.get(), about.infos(), setter.get(), getter.get());
  }
}

void unregister_class(const Class& description) {
  Name name(description.name);
  classdb_unregister_extension_class(library_token, name.get());
}

void load_documentation(const char* xml) {
  editor_help_load_xml_from_utf8_chars_and_len(xml, static_cast<GDExtensionInt>(std::strlen(xml)));
}

}  // namespace godot
