#!/usr/bin/env bash
# Exports models from Debian's PyTorch (pytorch.py), and compares heed's results on every device with PyTorch's.
#   pytorch.sh HEED FOLDER    HEED: the program; FOLDER: where the files are written
# Exit code 3: PyTorch is not installed.
set -euo pipefail

heed=${1:?usage: pytorch.sh HEED FOLDER} folder=${2:?no folder}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=
for one in /usr/bin/python3 python3; do
  if "$one" -c 'import torch, numpy' 2>/dev/null; then python=$one; break; fi
done
[[ -n $python ]] || { echo "SKIPPED: python3-torch and python3-numpy are not installed, so nothing is exported from PyTorch"; exit 3; }
rm -rf "$folder"
"$python" "$here/pytorch.py" "$folder" 2>"$folder.log" || { cat "$folder.log"; exit 1; }
code=0
for model in encoder vit crowd policy; do
  echo "$model.onnx:"
  "$heed" onnx "$folder/$model.onnx" --check "$folder/$model.npz" --device all || code=1
done
exit "$code"
