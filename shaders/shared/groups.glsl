#include "limits.h"

// Must come before any use of gl_WorkGroupSize, which the compiler would otherwise assume to be 1, 1, 1.
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

// The linear index of this workgroup; see limits.h. Workgroups past the end of the work must return.
uint workgroup_index() {
  return gl_WorkGroupID.x + HEED_FOLD_X * (gl_WorkGroupID.y + HEED_FOLD_Y * gl_WorkGroupID.z);
}
