// The push-constant blocks and specialization constants of all operations, shared with the shaders. The constants of a kernel family are
// included by the family's file.
#pragma once

#include "kernel_params.inc"  // every header of shaders/shared with a push-constant block
#include "shared/limits.h"
#include "shared/matmul_blocks.h"
#include "shared/projection_blocks.h"
#include "shared/row_groups.h"
#include "shared/update_words.h"
