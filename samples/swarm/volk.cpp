// volk's own code.
#define VOLK_IMPLEMENTATION
#include <volk.h>
