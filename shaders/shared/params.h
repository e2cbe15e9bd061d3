// Macros with which one file declares a push-constant block for GLSL and a struct of the same layout for C++.
//
// Every block begins with `uint offset[N]`: for each of the kernel's N bindings, where its view starts, in elements of that binding's type
// (0 for an absent or Faults binding).
#ifdef __cplusplus
#include <cstdint>
#define HEED_BEGIN_PARAMS(Name) \
  namespace heed {              \
  struct Name {                 \
    using uint = std::uint32_t;
#define HEED_END_PARAMS \
  }                     \
  ;                     \
  }
#else
#define HEED_BEGIN_PARAMS(Name) layout(push_constant) uniform Name {
#define HEED_END_PARAMS \
  }                     \
  p;
#endif
