#!/usr/bin/env bash
# Captures a run with RenderDoc and looks for heed's labels and names in the capture. Prints lines "ok ..." and "FAIL ...".
#   renderdoc.sh HEED_TESTS FOLDER     under tests/drivers/with.sh, with a Vulkan driver
# Exit code 3: renderdoccmd (Debian package renderdoc) is missing.
set -uo pipefail
tests=${1:?usage: renderdoc.sh HEED_TESTS FOLDER}
folder=${2:?usage: renderdoc.sh HEED_TESTS FOLDER}
if ! command -v renderdoccmd >/dev/null; then
  echo "SKIPPED: renderdoccmd is not installed"
  exit 3
fi
mkdir -p "$folder"
rm -f "$folder"/heed*
if ! ENABLE_VULKAN_RENDERDOC_CAPTURE=1 HEED_CAPTURE=$folder/heed "$tests" '[.renderdoc]' >"$folder/heed.log" 2>&1; then
  cat "$folder/heed.log"
  echo "FAIL a capture is made"
  exit 1
fi
captures=("$folder"/heed*.rdc)
echo "ok a capture is made: ${captures[0]}"
renderdoccmd convert -f "${captures[0]}" -o "$folder/heed.xml" -c xml >"$folder/heed-convert.log" 2>&1 ||
  { cat "$folder/heed-convert.log"; echo "FAIL the capture can be read"; exit 1; }
failed=0
expect() {
  if grep -q "$2" "$folder/heed.xml"; then echo "ok $1"; else echo "FAIL $1"; failed=1; fi
}
expect "the pass softmax has its label" '<string name="pLabelName"[^>]*>encoder\.0\.softmax<'
expect "the pass layernorm has its label" '<string name="pLabelName"[^>]*>encoder\.0\.layernorm<'
expect "the pipeline softmax_f32 has its name" '>softmax_f32[a-z_]*<'
expect "the pipeline layernorm_f32 has its name" '>layernorm_f32[a-z_]*<'
expect "the scratch buffer has its name" '>scratch<'
expect "there are dispatches" 'name="vkCmdDispatch"'
exit $failed
