// Macros with which one file declares specialization constants for GLSL, and, for C++, the numbers of these constants in a KernelKey.
// Numbers 0, 1 and 2 are the workgroup's size, 3 the types of elements (types.h).
//
// Also declares arrays in shared memory. C++ includes those files in a function that has variables with the names of constants, and adds
// the arrays' sizes to `bytes`.
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
