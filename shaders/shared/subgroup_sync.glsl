// What the invocations of a subgroup have written to shared memory, all of them can read behind it. Others need not wait.
#extension GL_KHR_memory_scope_semantics : require
void subgroup_sync() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
