#!/usr/bin/env bash
# Links a Rust program with a shared library, and runs it.
#   check.sh LIBRARY FOLDER    exit code 3: rustc is not installed
set -euo pipefail
library=${1:?usage: check.sh LIBRARY FOLDER}
folder=${2:?usage: check.sh LIBRARY FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v rustc >/dev/null || { echo "SKIPPED: rustc is not installed"; exit 3; }
mkdir -p "$folder"
libraries=$(dirname "$library")
rustc --edition 2021 -O -L "$libraries" -l dylib=heed -C link-arg=-Wl,-rpath,"$libraries" -o "$folder/attention" "$here/attention.rs"
echo "ok Rust links"
exec "$folder/attention"
