#!/usr/bin/env bash
# Makes a new virtual environment that includes the system's packages, among them Debian's PyTorch.
#   make_venv.sh FOLDER
set -euo pipefail
folder=${1:?usage: make_venv.sh FOLDER}
python=/usr/bin/python3
[[ -x $python ]] || python=$(type -P python3)
rm -rf "$folder"
"$python" -m venv --system-site-packages "$folder"
"$folder/bin/python" -c "import torch" 2>/dev/null ||
  echo "SKIPPED: python3-torch is not installed, so nothing is compared with PyTorch"
