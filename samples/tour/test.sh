#!/usr/bin/env bash
# Runs the tour on good and on bad inputs. One line per case: "ok NAME" or "FAIL NAME: why".
#   test.sh PROGRAM [FOLDER]
set -uo pipefail

tour=${1:?usage: test.sh PROGRAM [FOLDER]}
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"
failures=0

report() {
  if [[ -z $2 ]]; then echo "ok $1"; else
    echo "FAIL $1: $2"
    failures=$((failures + 1))
  fi
}

# check NAME EXPECTED_CODE PATTERN ARGUMENTS...   PATTERN must match what is printed; bad input prints one line
check() {
  local name=$1 expected=$2 pattern=$3 out code why=""
  shift 3
  out=$("$tour" "$@" </dev/null 2>&1)
  code=$?
  [[ $code -eq $expected ]] || why="exit code $code instead of $expected: ${out:0:200}"
  [[ $out =~ $pattern ]] || why+=" no '$pattern' in: ${out:0:200}"
  if [[ $expected -eq 2 && $(wc -l <<<"$out") -ne 1 ]]; then why+=" more than one line: ${out:0:200}"; fi
  report "tour/$name" "$why"
}

is_png() { [[ -s $1 && $(head -c 8 "$1" | od -An -tx1 | tr -d ' \n') == 89504e470d0a1a0a ]]; }

cpu=(--device cpu --out "$folder/out")
check default 0 "Cross attention" "${cpu[@]}"
for flavour in bidirectional causal cross; do
  if is_png "$folder/out/$flavour.png"; then report "tour/$flavour.png" ""; else
    report "tour/$flavour.png" "not a PNG"; fi
done

head -c 4096 /dev/urandom >"$folder/binary.txt"
printf '\x00\x01\x02' >>"$folder/binary.txt"
printf 'good \xff\xfe bad' >"$folder/latin.txt"
printf 'over \xc0\xaf long' >"$folder/overlong.txt"
printf 'red \x1b[31m text' >"$folder/escape.txt"
printf ' \n\t  \n' >"$folder/blank.txt"
printf '... !? --- ,\n' >"$folder/punctuation.txt"
: >"$folder/empty.txt"
for i in $(seq 10000); do echo "word$((i % 37))"; done >"$folder/long.txt"
head -c 3000000 /dev/zero | tr '\0' 'a' >"$folder/one-word.txt"
printf '\xef\xbb\xbfbyte order mark first\r\nsecond line\r\n' >"$folder/bom.txt"
printf '%s' 'A short file of words.' >"$folder/good.txt"

check missing-file 2 "cannot open .*nowhere.txt: No such file" "$folder/nowhere.txt" "${cpu[@]}"
check folder 2 "is a folder" "$folder" "${cpu[@]}"
check empty-sentence 2 "has no words" "" "${cpu[@]}"
check empty-file 2 "has no words" "$folder/empty.txt" "${cpu[@]}"
check empty-stdin 2 "standard input has no words" - "${cpu[@]}"
check blank-file 2 "has no words" "$folder/blank.txt" "${cpu[@]}"
check punctuation 2 "has no words" "$folder/punctuation.txt" "${cpu[@]}"
check binary 2 "is not (UTF-8|plain) text" "$folder/binary.txt" "${cpu[@]}"
check not-utf8 2 "byte 0xFF at offset 5" "$folder/latin.txt" "${cpu[@]}"
check overlong 2 "byte 0xC0 at offset 5" "$folder/overlong.txt" "${cpu[@]}"
check escape-sequence 2 "control character U\+001B" "$folder/escape.txt" "${cpu[@]}"
check bad-with 2 "cannot open" "fine words" --with "$folder/nowhere.txt" "${cpu[@]}"
check unknown-device 2 "no-such-gpu" --device no-such-gpu --out "$folder/out"
check unknown-option 2 "tour: .*--wat" --wat
check bad-heads 2 "heads" --heads 0
check bad-heads-text 2 "heads" --heads many
check no-quotes 2 "in quotes" two words
check bad-color 2 "color" --color mauve
check out-is-file 2 "cannot make the folder" --device cpu --out "$folder/good.txt"
check out-under-file 2 "cannot make the folder" --device cpu --out "$folder/good.txt/deeper"

check ten-thousand-words 0 "only its first 128 words are used" "$folder/long.txt" "${cpu[@]}"
check one-long-word 0 "only its first word is used" "$folder/one-word.txt" "${cpu[@]}"
check byte-order-mark 0 "byte +order +mark" "$folder/bom.txt" "${cpu[@]}"
check file 0 "short +file" "$folder/good.txt" "${cpu[@]}"
check one-word 0 "1 word, 1 head;" "word" --with "other" --heads 1 "${cpu[@]}"
check most-heads 0 "16 heads" --heads 16 "${cpu[@]}"
check other-scripts 0 "短" "人生は短い naïve мир 😀" "${cpu[@]}"
check colour 0 $'\x1b\\[48;' --color always --no-pictures --device cpu
check legend 0 '0.00 " .:-=\+\*#%@" .*40 of 128 rows, [0-9]+ of 128 columns; the picture' "$folder/long.txt" "${cpu[@]}"
check no-pictures 0 'of 128 columns\)' "$folder/long.txt" --device cpu --no-pictures
check list 0 "cpu" --list
check help 0 "sentence" --help

# A mistyped sample name is an error, and is not taken as the tour's words. Nothing is built then.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
said=$("$here/../run.sh" lern --steps 3 2>&1 </dev/null)
code=$?
if [[ $code -eq 2 && $said == *"no sample 'lern'"*"talk, listen, learn, swarm"* && $(wc -l <<<"$said") -eq 1 ]]; then
  report run.sh/mistyped ""; else report run.sh/mistyped "exit code $code: ${said:0:300}"; fi
source <(sed -n '/^mistyped()/,/^}/p' "$here/../run.sh")
why=""
for pair in learn:lern talk:tlak listen:lisen swarm:swarms heed:Hed tour:toor search:saerch; do
  mistyped "${pair#*:}" "${pair%:*}" || why+=" ${pair#*:} is not taken for ${pair%:*}"
done
for word in word sword life "two words" "" lrean heedless; do
  for name in tour heed search talk listen learn swarm; do
    if mistyped "$word" $name; then why+=" '$word' is taken for $name"; fi
  done
done
report run.sh/slips "$why"

# Without a terminal, or with NO_COLOR, no escape sequences are printed.
plain=$("$tour" "${cpu[@]}" 2>&1)
if [[ $plain == *$'\x1b'* ]]; then report tour/plain "escape sequences without a terminal"; else
  report tour/plain ""; fi
[[ $failures -eq 0 ]]
