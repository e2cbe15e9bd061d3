// Selects a type by an activation. Included once per instruction set (see Highway's foreach_target.h).
#if defined(HEED_CPU_ACTIVATION_TYPE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_ACTIVATION_TYPE_INL
#undef HEED_CPU_ACTIVATION_TYPE_INL
#else
#define HEED_CPU_ACTIVATION_TYPE_INL
#endif

#include <heed/graph.hpp>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {

// Calls f(Activate<kind>()).
template <template <Activation> class Activate, class F>
HWY_INLINE void activation_as_type(Activation kind, const F& f) {
  switch (kind) {
    case Activation::None: return f(Activate<Activation::None>());
    case Activation::Relu: return f(Activate<Activation::Relu>());
    case Activation::GeluErf: return f(Activate<Activation::GeluErf>());
    case Activation::GeluTanh: return f(Activate<Activation::GeluTanh>());
    case Activation::Silu: return f(Activate<Activation::Silu>());
    case Activation::Tanh: return f(Activate<Activation::Tanh>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
