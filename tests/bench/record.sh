#!/usr/bin/env bash
# Measures the host's time to compile and record, beside another version of heed: builds the library of that commit
# and of this checkout into build/record, and runs the same program (record/record.cpp) with each in turn, on the system's lavapipe.
# Last lines, with the median, least and most of the rounds' ratios:
#   record: A and B ns a dispatch (N and M dispatches), whole R [least to most]
#   compile: A and B us, R [least to most]
#
#   record.sh COMMIT
#
#   HEED_PEER_ROUNDS   default: 9
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[[ $# -eq 1 ]] || { sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
commit=$(git -C "$root" rev-parse --verify "$1^{commit}")
folder=$root/build/record
mkdir -p "$folder"
[[ -d $folder/then/.git ]] || git clone --quiet --shared "$root" "$folder/then"
git -C "$folder/then" checkout --quiet --detach "$commit"
for which in now then; do
  source=$([[ $which == now ]] && echo "$root" || echo "$folder/then")
  { cmake -S "$here/record" -B "$folder/$which-build" -DCMAKE_BUILD_TYPE=Release -DHEED_TEXT=OFF "-DHEED_SOURCE=$source" &&
    cmake --build "$folder/$which-build" --target heed_record --parallel "$(nproc)"; } >"$folder/$which.log" 2>&1 || {
    tail -n 20 "$folder/$which.log"
    exit 2
  }
done
for ((round = 0; round < ${HEED_PEER_ROUNDS:-9}; ++round)); do
  for which in now then; do
    "$root/tests/drivers/with.sh" lavapipe-256 "$folder/$which-build/heed_record" >"$folder/$which.out"
  done
  paste -d ' ' "$folder/now.out" "$folder/then.out"
done | tee "$folder/rounds" | awk '
  function summary(values, n,   i, j, t) {
    for (i = 2; i <= n; ++i) for (j = i; j > 1 && values[j] < values[j - 1]; --j) { t = values[j]; values[j] = values[j - 1]; values[j - 1] = t }
    return sprintf("%.2f [%.2f to %.2f]", values[int((n + 1) / 2)], values[1], values[n])
  }
  { print; ++n; record[n] = $1 * $2 / ($4 * $5); each[n] = $2; other[n] = $5; compile[n] = $3 / $6; mine[n] = $3; theirs[n] = $6; now = $1; then = $4 }
  END {
    printf "record: %s and %s ns a dispatch (%d and %d dispatches), whole %s\n", summary(each, n), summary(other, n), now, then, summary(record, n)
    printf "compile: %s and %s us, %s\n", summary(mine, n), summary(theirs, n), summary(compile, n)
  }'
