#!/usr/bin/env bash
# Runs a Windows program, and prints its output with Unix line ends.
#   under_wine.sh PREFIX PROGRAM...    PREFIX: Wine's folder
set -uo pipefail
prefix=${1:?usage: under_wine.sh PREFIX PROGRAM...}
shift
WINEPREFIX=$prefix WINEDEBUG=-all wine "$@" | tr -d '\r'
