#!/usr/bin/env bash
# Makes a fresh virtual environment, with the system's packages, since PyTorch of Debian is one of them.
#   make_venv.sh FOLDER
set -euo pipefail
folder=${1:?usage: make_venv.sh FOLDER}
python=/usr/bin/python3
[[ -x $python ]] || python=$(type -P python3)
rm -rf "$folder"
"$python" -m venv --system-site-packages "$folder"
"$folder/bin/python" -c "import torch" 2>/dev/null ||
  echo "SKIPPED: python3-torch is not installed, so nothing is compared with PyTorch"
