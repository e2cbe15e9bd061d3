#!/usr/bin/env bash
# Prepares samples/run.sh search: gets the model, and copies the intents to a folder where the index can be written.
#   prepare.sh BUILD_FOLDER       prints the program's arguments, one to a line
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$1
model=$root/.cache/all-MiniLM-L6-v2

"$here/fetch_model.sh" "$model"
mkdir -p "$build/search"
cmp -s "$here/intents.txt" "$build/search/intents.txt" || cp "$here/intents.txt" "$build/search/intents.txt"
printf '%s\n' --model "$model" --corpus "$build/search/intents.txt"
