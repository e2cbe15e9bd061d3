#!/usr/bin/env bash
# Prepares samples/run.sh listen: gets the model.
#   prepare.sh BUILD_FOLDER       prints the program's arguments, one to a line
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$("$here/fetch_model.sh")
printf '%s\n' --model "$model"
