#!/usr/bin/env bash
# Prepares samples/run.sh talk: gets the model, unless the arguments name one, and with --listen the speech model.
#   prepare.sh BUILD_FOLDER [ARGUMENTS...]      prints the program's arguments, one to a line
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
given=" ${*:2} "
if [[ $given != *" --model"[=\ ]* ]]; then
  model=$("$here/fetch_model.sh")
  printf '%s\n' --model "$model"
fi
if [[ $given == *" --listen"[=\ ]* && $given != *" --ears"[=\ ]* ]]; then
  ears=$("$here/../listen/fetch_model.sh")
  printf '%s\n' --ears "$ears"
fi
