#!/usr/bin/env bash
# AMD's part of isa.sh, beside this file, with the same options.
exec "$(dirname "${BASH_SOURCE[0]}")/isa.sh" amd "$@"
