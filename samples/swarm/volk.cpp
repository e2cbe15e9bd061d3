// Compiles volk's implementation.
#define VOLK_IMPLEMENTATION
#include <volk.h>
