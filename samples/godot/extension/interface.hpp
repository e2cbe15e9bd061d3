// Godot's C functions, under their names in gdextension_interface.h, as passed to `load`; and storage for Godot's values. Only values.cpp
// and godot.cpp include it.
#pragma once

#include <gdextension_interface.h>

namespace godot::interface {

#define HEED_GODOT_FUNCTIONS(X)                                                                              \
  X(GDExtensionInterfaceStringNameNewWithUtf8Chars, string_name_new_with_utf8_chars)                         \
  X(GDExtensionInterfaceStringNewWithUtf8CharsAndLen, string_new_with_utf8_chars_and_len)                    \
  X(GDExtensionInterfaceStringToUtf8Chars, string_to_utf8_chars)                                             \
  X(GDExtensionInterfacePackedByteArrayOperatorIndex, packed_byte_array_operator_index)                      \
  X(GDExtensionInterfacePackedInt32ArrayOperatorIndex, packed_int32_array_operator_index)                    \
  X(GDExtensionInterfacePackedFloat32ArrayOperatorIndex, packed_float32_array_operator_index)                \
  X(GDExtensionInterfacePackedVector2ArrayOperatorIndex, packed_vector2_array_operator_index)                \
  X(GDExtensionInterfacePackedStringArrayOperatorIndex, packed_string_array_operator_index)                  \
  X(GDExtensionInterfaceVariantGetPtrConstructor, variant_get_ptr_constructor)                               \
  X(GDExtensionInterfaceVariantGetPtrDestructor, variant_get_ptr_destructor)                                 \
  X(GDExtensionInterfaceVariantGetPtrBuiltinMethod, variant_get_ptr_builtin_method)                          \
  X(GDExtensionInterfaceGetVariantFromTypeConstructor, get_variant_from_type_constructor)                    \
  X(GDExtensionInterfaceGetVariantToTypeConstructor, get_variant_to_type_constructor)                        \
  X(GDExtensionInterfaceVariantNewNil, variant_new_nil)                                                      \
  X(GDExtensionInterfaceVariantGetType, variant_get_type)                                                    \
  X(GDExtensionInterfaceVariantDestroy, variant_destroy)                                                     \
  X(GDExtensionInterfaceVariantCall, variant_call)                                                           \
  X(GDExtensionInterfaceCallableCustomCreate2, callable_custom_create2)                                      \
  X(GDExtensionInterfaceGlobalGetSingleton, global_get_singleton)                                            \
  X(GDExtensionInterfaceObjectGetInstanceId, object_get_instance_id)                                         \
  X(GDExtensionInterfaceObjectGetInstanceFromId, object_get_instance_from_id)                                \
  X(GDExtensionInterfaceGetGodotVersion, get_godot_version)                                                  \
  X(GDExtensionInterfaceClassdbConstructObject2, classdb_construct_object2)                                  \
  X(GDExtensionInterfaceObjectSetInstance, object_set_instance)                                              \
  X(GDExtensionInterfaceClassdbRegisterExtensionClass4, classdb_register_extension_class4)                   \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassMethod, classdb_register_extension_class_method)        \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassSignal, classdb_register_extension_class_signal)        \
  X(GDExtensionInterfaceClassdbRegisterExtensionClassProperty, classdb_register_extension_class_property)    \
  X(GDExtensionInterfaceClassdbUnregisterExtensionClass, classdb_unregister_extension_class)                 \
  X(GDExtensionsInterfaceEditorHelpLoadXmlFromUtf8CharsAndLen, editor_help_load_xml_from_utf8_chars_and_len) \
  X(GDExtensionInterfacePrintErrorWithMessage, print_error_with_message)                                     \
  X(GDExtensionInterfacePrintWarningWithMessage, print_warning_with_message)
#define HEED_GODOT_DECLARE(type, name) extern type name;
HEED_GODOT_FUNCTIONS(HEED_GODOT_DECLARE)
#undef HEED_GODOT_DECLARE

// Storage for one of Godot's types if its floats have 32 bits and pointers 64: strings and names need 8 bytes, packed arrays and callables
// 16, variants 24.
struct Opaque {
  alignas(8) unsigned char bytes[24] = {};
};

template <GDExtensionVariantType type>
void destroy(void* place) {
  static const GDExtensionPtrDestructor function = variant_get_ptr_destructor(type);
  function(place);
}

class Name {
 public:
  explicit Name(const char* text) { string_name_new_with_utf8_chars(&opaque_, text); }
  ~Name() { destroy<GDEXTENSION_VARIANT_TYPE_STRING_NAME>(&opaque_); }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  void* get() { return &opaque_; }

 private:
  Opaque opaque_;
};

}  // namespace godot::interface
