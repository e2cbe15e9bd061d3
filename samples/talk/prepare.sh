#!/usr/bin/env bash
# Prepares samples/run.sh talk: gets the model, unless the arguments name one.
#   prepare.sh BUILD_FOLDER [ARGUMENTS...]      prints the program's arguments, one to a line
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case " $* " in *" --model"[=\ ]*) exit ;; esac
model=$("$here/fetch_model.sh")
printf '%s\n' --model "$model"
