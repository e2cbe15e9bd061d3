// The push-constant blocks of all kernels, as the shaders read them.
#pragma once

#include "shared/argmax.h"
#include "shared/attention.h"
#include "shared/attention_combine.h"
#include "shared/dropout.h"
#include "shared/elementwise.h"
#include "shared/embedding.h"
#include "shared/l2_normalize.h"
#include "shared/limits.h"
#include "shared/matmul.h"
#include "shared/mean.h"
#include "shared/norm.h"
#include "shared/softmax.h"
