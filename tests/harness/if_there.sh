#!/bin/sh
# Runs a command if a file exists that another test creates. Exit code 3 if the file is missing, since that test was skipped.
#   if_there.sh FILE COMMAND...
if [ ! -e "$1" ]; then
  echo "SKIPPED: there is no $1"
  exit 3
fi
shift
exec "$@"
