// Synchronizes a subgroup: every invocation can then read what the others have written to shared memory. Other subgroups do not wait.
#extension GL_KHR_memory_scope_semantics : require
void subgroup_sync() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
