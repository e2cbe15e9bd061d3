// Numbers of the quantized types, in the order of heed::DType, from 1 on.
#ifndef HEED_SHADERS_BLOCKS_H
#define HEED_SHADERS_BLOCKS_H

#define HEED_BLOCKS_Q8_0 1u
#define HEED_BLOCKS_Q4_0 2u
#define HEED_BLOCKS_Q4_1 3u
#define HEED_BLOCKS_Q5_0 4u
#define HEED_BLOCKS_Q5_1 5u
#define HEED_BLOCKS_Q4_K 6u
#define HEED_BLOCKS_Q5_K 7u
#define HEED_BLOCKS_Q6_K 8u

#endif
