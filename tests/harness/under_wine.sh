#!/usr/bin/env bash
# Runs a program of Windows, and prints its lines as those of other systems.
#   under_wine.sh PREFIX PROGRAM...    PREFIX: Wine's folder
set -uo pipefail
prefix=${1:?usage: under_wine.sh PREFIX PROGRAM...}
shift
WINEPREFIX=$prefix WINEDEBUG=-all wine "$@" | tr -d '\r'
