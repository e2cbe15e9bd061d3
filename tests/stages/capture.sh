# Labels and names, as people see them in RenderDoc.
about="a RenderDoc capture on lavapipe"
needs="build"
stage() {
  command -v renderdoccmd >/dev/null || { skip "renderdoccmd is not installed"; return; }
  check_lines "tests/vulkan/renderdoc.sh" "$with" lavapipe "$root/tests/vulkan/renderdoc.sh" "$tests" "$build/capture"
}
