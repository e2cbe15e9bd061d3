#!/bin/sh
# Runs a command if a file is there, which another test makes that was skipped where it could not; exit code 3 if not.
#   if_there.sh FILE COMMAND...
if [ ! -e "$1" ]; then
  echo "SKIPPED: there is no $1"
  exit 3
fi
shift
exec "$@"
