// After it, every invocation of a subgroup can read what the others have written to shared memory. Other subgroups go
// on.
#extension GL_KHR_memory_scope_semantics : require
void subgroup_sync() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
