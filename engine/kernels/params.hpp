// The push-constant blocks and specialization constants of all operations, as the shaders read them. Constants of one family of kernels
// are included by its file.
#pragma once

#include "kernel_params.inc"  // every header of shaders/shared with a push-constant block
#include "shared/limits.h"
#include "shared/matmul_blocks.h"
#include "shared/projection_blocks.h"
#include "shared/row_groups.h"
#include "shared/update_words.h"
