#!/usr/bin/env bash
# Compares heed with llama.cpp on the same language model, in turn, in one run: prompts, tokens and several conversations on the CPU and on
# Mesa's software Vulkan driver, the memory of one conversation, and the time to a first token. Prints a table.
#   llm_peers.sh [ROUNDS [WORK...]]      default: 5 rounds of all works that peers/llm_rounds.py lists
# Gets the model (samples/talk/fetch_model.sh) and builds heed into build/. llama.cpp comes from Debian sid, in a clean root in
# build/roots/llama, which needs root rights and debootstrap. Exit code 3: it is not available here.
# Measure on an idle machine: beside other work llama.cpp's threads wait for each other and lose most of their speed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build
peer=$build/roots/llama
log=$build/llm-peers.log
mkdir -p "$build/roots"

model=$("$root/samples/talk/fetch_model.sh")
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release >"$log"
cmake --build "$build" --target heed_program talk --parallel "$(nproc)" >>"$log" || { tail -n 20 "$log" >&2; exit 1; }

if [[ ! -x $peer/usr/bin/llama-bench ]]; then
  rm -rf --one-file-system "$peer"
  "$root/tests/drivers/install.sh" roots >>"$log" 2>&1 || exit 3
  "$root/tests/drivers/clean_root.sh" "$peer" sid || exit 3
  "$root/tests/drivers/in_root.sh" "$peer" bash -c 'apt-get -qq update && apt-get -qq -y --no-install-recommends install \
    libvulkan1 mesa-vulkan-drivers llama.cpp-tools llama.cpp-tools-extra libggml0-backend-vulkan' </dev/null >>"$log" 2>&1 ||
    { echo "SKIPPED: llama.cpp cannot be had from Debian sid ($log)" >&2; exit 3; }
fi
cp "$model" "$peer/model.gguf"

exec python3 "$here/peers/llm_rounds.py" "$root" "$build" "$peer" "$model" "$@"
