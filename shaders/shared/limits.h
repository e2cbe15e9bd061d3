// Constants that shaders and lowering must agree on. Plain macros, since GLSL and C++ share no constexpr.
#ifndef HEED_SHADERS_LIMITS_H
#define HEED_SHADERS_LIMITS_H

// A linear index of workgroups is folded over the three axes with fixed widths, so that it needs no group count
// (a recorder may cut a dispatch along z and y). x stays short: the cuts are then fine enough for a watchdog.
#define HEED_FOLD_X 16u
#define HEED_FOLD_Y 32768u

// Bits of the FLAGS specialization constants.
#define HEED_MATMUL_BIAS 1u
#define HEED_MATMUL_DROPOUT 2u
#define HEED_MATMUL_RESIDUAL 4u
#define HEED_MATMUL_A_K_FAST 8u  // neighbouring elements of A lie along k, not along m
#define HEED_MATMUL_B_K_FAST 16u
// Whole groups of four along the fast side of the operand: it starts at, and crosses its rows and batches by, multiples
// of four elements, and that side is a multiple of four long.
#define HEED_MATMUL_A_VEC4 32u
#define HEED_MATMUL_B_VEC4 64u
#define HEED_MATMUL_B_BFLOAT 128u  // of kernels whose B is narrower than A: it is bf16; otherwise f16

#define HEED_SOFTMAX_CAUSAL 1u
#define HEED_SOFTMAX_KEY_PADDING 2u
#define HEED_SOFTMAX_KEY_PADDING_KEEP 4u  // nonzero = keep; otherwise nonzero = leave out
#define HEED_SOFTMAX_MASK 8u
#define HEED_SOFTMAX_MASK_KEEP 16u
#define HEED_SOFTMAX_BIAS 32u
#define HEED_SOFTMAX_FILL 64u

// Attention has the flags of softmax and these.
#define HEED_ATTENTION_DROPOUT 128u
#define HEED_ATTENTION_BOTTOM_RIGHT 256u  // with HEED_SOFTMAX_CAUSAL; otherwise top-left
#define HEED_ATTENTION_PARTIAL 512u       // one split of the keys: stores sums, largest logit and total
#define HEED_ATTENTION_VEC4 1024u         // queries, keys and values can be read four elements at a time
#define HEED_ATTENTION_LOG_SUM_EXP 2048u  // stores the log-sum-exp of each row

#define HEED_NORM_GAMMA 1u
#define HEED_NORM_BETA 2u
#define HEED_NORM_RESIDUAL 4u

#define HEED_MEAN_MASK 1u
#define HEED_MEAN_MASK_KEEP 2u

// Kind of an elementwise pass.
#define HEED_ELEMENTWISE_COPY 0u
#define HEED_ELEMENTWISE_ADD 1u
#define HEED_ELEMENTWISE_MUL 2u

#endif
