// Numbers of element types in the specialization constant TYPES, and in variants.txt.
#ifndef HEED_SHADERS_TYPES_H
#define HEED_SHADERS_TYPES_H

#define HEED_TYPES_CONSTANT 3
#define HEED_TYPE_F32 0u  // for copies: any word
#define HEED_TYPE_F16 1u  // for copies: any two bytes
#define HEED_TYPE_BF16 2u
#define HEED_TYPE_U8 3u

#endif
