// Made by engine/c/generate.py of the C++ headers: change those, and run it.
#ifndef HEED_ENUMS_GLSL
#define HEED_ENUMS_GLSL
#define HEED_ACTIVATION_NONE 0u
#define HEED_ACTIVATION_RELU 1u
#define HEED_ACTIVATION_GELU_ERF 2u
#define HEED_ACTIVATION_GELU_TANH 3u
#define HEED_ACTIVATION_SILU 4u
#define HEED_ACTIVATION_TANH 5u
#endif
