// Lets one file declare specialization constants for GLSL, and for C++ the numbers by which it sets them in a KernelKey.
// Numbers 0, 1 and 2 are the workgroup's size, 3 the types of elements (types.h).
//
// And lets it declare arrays in shared memory, where C++ includes it in a function that has variables by the names of
// constants and adds to `bytes`.
#ifdef __cplusplus
#include <cstddef>
#define HEED_BEGIN_CONSTANTS(Name) \
  namespace heed {                 \
  struct Name {                    \
    enum : std::size_t {
#define HEED_CONSTANT(number, type, NAME, value) NAME = number,
#define HEED_END_CONSTANTS \
  }                        \
  ;                        \
  }                        \
  ;                        \
  }
#define HEED_BYTES_float 4u
#define HEED_BYTES_uint 4u
#define HEED_BYTES_uvec2 8u
#define HEED_BYTES_vec2 8u
#define HEED_BYTES_vec4 16u
#define HEED_BYTES_uvec4 16u
#define HEED_SHARED(type, name, length) bytes += HEED_BYTES_##type * (length);
#else
#define HEED_BEGIN_CONSTANTS(Name)
#define HEED_CONSTANT(number, type, NAME, value) layout(constant_id = number) const type NAME = value;
#define HEED_END_CONSTANTS
#define HEED_SHARED(type, name, length) shared type name[length];
#endif
