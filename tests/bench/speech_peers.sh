#!/usr/bin/env bash
# Compares heed's CPU device with CTranslate2, which faster-whisper uses, and whisper.cpp: all transcribe a recording by Whisper tiny.en, in
# turn, in one run. Gets the model and the peers (PyPI, into .cache/speech-peers), builds samples/listen into build/, and prints a table of
# times, ratios and memory. The time of a window begins with the samples, except CTranslate2's, which begins with the mel bands.
#   speech_peers.sh [RECORDING]      16 bits, mono, 16 kHz; default: tests/speech/open-door.wav
#   HEED_PEER_THREADS   default: 2
#   HEED_PEER_ROUNDS    default: 8
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
recording=$(realpath "${1:-$root/tests/speech/open-door.wav}")
venv=$root/.cache/speech-peers
model=$("$root/samples/listen/fetch_model.sh")
"$root/tests/drivers/install.sh" listen
[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import ctranslate2, _pywhispercpp' 2>/dev/null ||
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy ctranslate2==4.8.5 pywhispercpp==1.5.1
[[ -f $root/build/CMakeCache.txt ]] || cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$root/build" --target listen >/dev/null
"$venv/bin/python" "$root/tests/bench/peers/speech_peer.py" "$root/build/samples/listen/listen" "$model" "$recording" \
  "${HEED_PEER_THREADS:-2}" "${HEED_PEER_ROUNDS:-8}"
