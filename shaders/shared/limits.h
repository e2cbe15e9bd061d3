// Constants shared by shaders and lowering. Macros, since GLSL and C++ have no common constexpr.
#ifndef HEED_SHADERS_LIMITS_H
#define HEED_SHADERS_LIMITS_H

// A linear index of workgroups is folded over the three axes with fixed widths, so that it does not depend on group counts (a recorder may
// split a dispatch along z and y). x is short, so that pieces are small enough for a watchdog.
#define HEED_FOLD_X 16u
#define HEED_FOLD_Y 32768u

// Bits of the FLAGS specialization constants.
#define HEED_MATMUL_BIAS 1u
#define HEED_MATMUL_DROPOUT 2u
#define HEED_MATMUL_RESIDUAL 4u
#define HEED_MATMUL_A_K_FAST 8u  // A is contiguous along k, not along m
#define HEED_MATMUL_B_K_FAST 16u
// The operand can be read in groups of four along its contiguous axis: the length of that axis, the operand's start and the strides of its
// rows and batches are multiples of four elements, or of eight on matrix units if it has 16 bits.
#define HEED_MATMUL_A_VEC4 32u
#define HEED_MATMUL_B_VEC4 64u
#define HEED_MATMUL_B_BFLOAT 128u  // a B that is narrower than A is bf16; otherwise f16
#define HEED_MATMUL_GATED 256u     // the residual is multiplied; otherwise it is added
#define HEED_MATMUL_KEEPS 1024u    // the activation's input is stored, too, with the strides of a residual
#define HEED_MATMUL_SLOPES 512u    // the result is scale * sum times the activation's derivative at the residual
#define HEED_MATMUL_SKIPS_ZEROS \
  2048u  // elements of A that count as 0 add nothing, whatever B is; in CANON kernels only

#define HEED_SOFTMAX_CAUSAL 1u
#define HEED_SOFTMAX_KEY_PADDING 2u
#define HEED_SOFTMAX_KEY_PADDING_KEEP 4u  // nonzero = keep; otherwise nonzero = leave out
#define HEED_SOFTMAX_MASK 8u
#define HEED_SOFTMAX_MASK_KEEP 16u
#define HEED_SOFTMAX_BIAS 32u
#define HEED_SOFTMAX_FILL 64u
#define HEED_SOFTMAX_BOTTOM_RIGHT 256u  // with HEED_SOFTMAX_CAUSAL; otherwise top-left
#define HEED_SOFTMAX_LOG_SUM_EXP 2048u  // stores the log-sum-exp of each row; in CANON kernels only
#define HEED_SOFTMAX_LENGTHS 8192u
#define HEED_SOFTMAX_POSITIONS 16384u

// Flags of attention, in addition to those of softmax except LENGTHS and POSITIONS: LENGTHS_AT and POSITIONS_AT give their bindings
// instead.
#define HEED_ATTENTION_DROPOUT 128u
#define HEED_ATTENTION_PARTIAL 512u       // one split of the keys: stores sums, largest logit and total
#define HEED_ATTENTION_VEC4 1024u         // operands can be read four elements at once, on matrix units eight
#define HEED_ATTENTION_LOG_SUM_EXP 2048u  // stores the log-sum-exp of each row
#define HEED_ATTENTION_KEYS_BFLOAT 4096u  // keys and values that are narrower than queries are bf16; otherwise f16

#define HEED_NORM_GAMMA 1u
#define HEED_NORM_BETA 2u
#define HEED_NORM_RESIDUAL 4u
#define HEED_NORM_ROOT 8u     // rmsnorm: no mean is subtracted
#define HEED_NORM_BEHIND 16u  // the residual is added to the result

#define HEED_PROJECTION_NORM 1u
#define HEED_PROJECTION_GAMMA 2u
#define HEED_PROJECTION_GATED 4u
#define HEED_PROJECTION_HALVES 8u  // element i forms a pair with i + PAIRS; otherwise 2i with 2i + 1
#define HEED_PROJECTION_POSITIONS 16u
#define HEED_PROJECTION_B_BFLOAT 32u
#define HEED_PROJECTION_BIAS 64u         // the first weight has a bias; the next two bits are for the second and third
#define HEED_PROJECTION_TURNED 512u      // with rotary; three bits, like the biases
#define HEED_PROJECTION_PLACED 4096u     // likewise; rows of the result are scattered to their positions
#define HEED_PROJECTION_NARROWED 32768u  // likewise; with rows of f32, the result has 16 bits
#define HEED_PROJECTION_NARROW_BFLOAT 262144u  // these results are bf16
#define HEED_PROJECTION_MEAN 524288u           // the norm subtracts the mean
#define HEED_PROJECTION_BETA 1048576u

#define HEED_REDUCE_MASK 1u
#define HEED_REDUCE_MASK_KEEP 2u
#define HEED_CUMSUM_EXCLUSIVE 4u
#define HEED_CUMSUM_REVERSE 8u
#define HEED_REDUCE_PARTS 16u  // a dispatch takes a part of the axis
// A dispatch that takes a part: it begins with the numbers that the part before stored; it stores such numbers and no result; it only looks
// for the largest elements, which the sums of powers and squares need.
#define HEED_PART_CONTINUES 1u
#define HEED_PART_STORES 2u
#define HEED_PART_SEARCHES 4u

#define HEED_ARGMAX_SMALLEST 1u
#define HEED_ARGMAX_LAST 2u
#define HEED_ARGMAX_VALUE 4u
#define HEED_ARGMAX_WHOLE 8u  // x is I32

#define HEED_UPDATE_ADAMW 1u   // otherwise SGD
#define HEED_UPDATE_MOMENT 2u  // SGD has momentum
#define HEED_UPDATE_NESTEROV 4u
#define HEED_UPDATE_CLEARS 8u  // sets the gradient to 0
// Elements that an invocation of an update processes.
#define HEED_UPDATE_EACH 4u

// Invocations of workgroups that work on rows.
#define HEED_ROW_INVOCATIONS 128u
// Words of shared memory that attention uses in turn, for kept keys and for infinite or NaN values.
#define HEED_KEPT_TURNS 3u
#define HEED_STRANGE_TURNS 2u

// Kinds of elementwise passes.
#define HEED_ELEMENTWISE_COPY 0u
#define HEED_ELEMENTWISE_ADD 1u
#define HEED_ELEMENTWISE_MUL 2u
#define HEED_ELEMENTWISE_ACTIVATION_BACKWARD 3u

// Kinds of norms in a gradient.
#define HEED_NORM_BACKWARD_LAYER 0u
#define HEED_NORM_BACKWARD_RMS 1u
#define HEED_NORM_BACKWARD_L2 2u

#endif
