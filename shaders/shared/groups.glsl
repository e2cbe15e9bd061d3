#include "limits.h"

// The linear index of this workgroup; see limits.h. Workgroups past the end of the work must return.
uint workgroup_index() {
  return gl_WorkGroupID.x + HEED_FOLD_X * (gl_WorkGroupID.y + HEED_FOLD_Y * gl_WorkGroupID.z);
}
