#!/usr/bin/env bash
# Runs the search program on good and on bad inputs, with the tiny model of tests/search/data. One line per case:
# "ok NAME" or "FAIL NAME: why".
#   test.sh PROGRAM [FOLDER]
set -uo pipefail

program=${1:?usage: test.sh PROGRAM [FOLDER]}
folder=${2:-$(mktemp -d)}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
model=$root/tests/search/data/tiny
source "$root/samples/cases.sh"

corpus=$folder/lines.txt
cp "$root/samples/search/intents.txt" "$corpus"
index=$corpus.heed-index
query=(--model "$model" --corpus "$corpus" --query)

# --- Good input --------------------------------------------------------------------------------------------------
check "first answer makes the index" 0 "read [0-9]+ lines" "${query[@]}" "Sleep at the inn"
report "the index is beside the corpus" "$([[ -s $index ]] || echo "no $index")"
check "a line finds itself" 0 "1\.000  Sleep at the inn" "${query[@]}" "Sleep at the inn"
out=$("$program" --device cpu "${query[@]}" "Sleep at the inn" 2>&1)
report "the second answer reads the index" "$(grep -q '^read ' <<<"$out" && echo "the lines were read again")"
check "as many answers as asked for" 0 "^  " "${query[@]}" "inn" --top 7
report "seven of them" "$(n=$("$program" --device cpu "${query[@]}" inn --top 7 2>/dev/null | grep -cE '^  -?[01]\.[0-9]{3}  '); [[ $n -eq 7 ]] || echo "$n")"
out=$(printf 'horse\n\nDrink some water\n' | "$program" --device cpu --model "$model" --corpus "$corpus" 2>/dev/null)
report "questions from a pipe" "$([[ $(grep -c ' ms: ' <<<"$out") -eq 2 ]] && grep -q '1.000  Drink some water' <<<"$out" || echo "${out:0:200}")"
check "attention" 0 "attention: $folder/a.png" "${query[@]}" "buy a horse" --attention "$folder/a.png"
report "attention is a PNG" "$(head -c 4 "$folder/a.png" | grep -q PNG || echo "it is not")"
long=$(printf 'word %.0s' {1..300})
check "attention of a long question" 0 "too long and was cut" "${query[@]}" "$long" --attention "$folder/b.png"
check "help" 0 "--corpus" --help
check "devices" 0 "cpu" --list

# --- Unusual corpora -----------------------------------------------------------------------------------------------
{
  printf '\xef\xbb\xbfthe first line\r\n\n   \nbroken \xff\xfe bytes\n\xc3\nthe old lighthouse\n'
  head -c 100000 /dev/zero | tr '\0' 'x'
  printf '\n'
  for _ in {1..20000}; do printf 'ship '; done
  printf '\na \x00 null and \x1b[31m escapes\n[SEP] [CLS] [PAD]\n##ing\n\xe4\xbd\xa0\xe5\xa5\xbd'
} >"$folder/odd.txt"
check "odd lines" 0 "1\.000  the old lighthouse" --model "$model" --corpus "$folder/odd.txt" --query "the old lighthouse" --top 20
check "invalid UTF-8 is counted" 0 "^2 lines have bytes that are not UTF-8" --model "$model" --corpus "$folder/odd.txt" --query a
check "long lines are counted" 0 "1 lines are longer" --model "$model" --corpus "$folder/odd.txt" --query a --fresh
out=$("$program" --device cpu --model "$model" --corpus "$folder/odd.txt" --query escapes --top 20 2>/dev/null)
report "no control characters reach the terminal" "$(grep -q $'\x1b' <<<"$out" && echo "they do")"
printf 'one line without an end' >"$folder/one.txt"
check "one line" 0 "1\.000  one line" --model "$model" --corpus "$folder/one.txt" --query "one line without an end"
check "empty question" 0 "What|^$|lines of" --model "$model" --corpus "$folder/one.txt"
check "question of spaces and broken bytes" 0 " ms: " --model "$model" --corpus "$folder/one.txt" --query $' \xff '

# --- Indexes that do not match ------------------------------------------------------------------------------------
printf 'another line\n' >>"$folder/one.txt"
check "the corpus has changed" 0 "was made of other lines; it is replaced" --model "$model" --corpus "$folder/one.txt" --query one
rm -rf "$folder/model" && cp -r "$model" "$folder/model"
sed -i 's/"type_vocab_size": 2/"type_vocab_size": 2, "hidden_act": "relu"/; s/"hidden_act": "gelu",//' "$folder/model/config.json"
check "another model's index" 0 "was made by another model; it is replaced" --model "$folder/model" --corpus "$folder/one.txt" --query one
check "the index of another precision" 0 "was computed in another precision|no f16|not supported|Unsupported" --model "$folder/model" --corpus "$folder/one.txt" --query one --dtype f16
check "everything in bf16" 0 "in bf16$|not supported|Unsupported|no 16-bit" --model "$model" --corpus "$folder/one.txt" --query one --dtype bf16
check "weights of bf16" 0 "in f32, weights bf16" --model "$model" --corpus "$folder/one.txt" --query one --weights bf16
check "their index" 0 "was computed in another precision" --model "$model" --corpus "$folder/one.txt" --query one --weights f16
check "weights as in the checkpoint" 0 "in f32$" --model "$model" --corpus "$folder/one.txt" --query one --weights checkpoint
check "weights wider than the rest" 2 "weights of bf16 beside a dtype of f16" --model "$model" --corpus "$folder/one.txt" --query one --dtype f16 --weights bf16
check "weights of no known type" 2 "--weights" "${query[@]}" a --weights f8
cp "$folder/odd.txt" "$folder/foreign"
check "a file that is no index" 2 "is no index.*--fresh" "${query[@]}" one --index "$folder/foreign"
report "it was left alone" "$(cmp -s "$folder/odd.txt" "$folder/foreign" || echo "it was overwritten")"
head -c 5000 "$index" >"$folder/cut"
check "a truncated index" 2 "is no index" "${query[@]}" one --index "$folder/cut"
check "replaced when asked to" 0 "read " "${query[@]}" one --index "$folder/cut" --fresh
rm -f "$folder/pipe" && mkfifo "$folder/pipe"
check "a pipe is not replaced" 2 "pipe is no regular file" "${query[@]}" one --index "$folder/pipe" --fresh
report "the pipe is still there" "$([[ -p $folder/pipe ]] || echo "it is gone")"
check "an index that cannot be written" 0 "cannot create .*complete without it" "${query[@]}" one --index "$folder/none/index"

# --- Bad input ------------------------------------------------------------------------------------------------------
check "no model" 2 "--model is missing" --corpus "$corpus" --query a
check "no corpus" 2 "--corpus is missing" --model "$model" --query a
check "model folder that is not there" 2 "config.json" --model "$folder/nothing" --corpus "$corpus" --query a
check "corpus that is not there" 2 "cannot read .*nothing.txt: No such file" --model "$model" --corpus "$folder/nothing.txt" --query a
check "corpus that is a folder" 2 "is a folder" --model "$model" --corpus "$folder" --query a
check "corpus without an end" 2 "/dev/zero exceeds the limit of [0-9]+ bytes" --model "$model" --corpus /dev/zero --query a
check "corpus that cannot be read" 2 "cannot read /proc/self/mem" --model "$model" --corpus /proc/self/mem --query a
for wrong in "--device nonsuch" "--model $folder/nothing"; do
  out=$("$program" --device cpu "${query[@]}" a $wrong 2>&1 </dev/null)
  report "one line about $wrong" "$([[ $(wc -l <<<"$out") -eq 1 ]] || echo "${out:0:300}")"
done
printf '\n \n\t\n' >"$folder/blank.txt"
check "corpus without text" 2 "no line with text" --model "$model" --corpus "$folder/blank.txt" --query a
: >"$folder/empty.txt"
check "empty corpus" 2 "no line with text" --model "$model" --corpus "$folder/empty.txt" --query a
check "a question without text" 2 "--query is empty" "${query[@]}" " "
check "unknown device" 2 "nonsuch" --device nonsuch "${query[@]}" a
check "unknown option" 2 "nonsense" --nonsense
check "no answers asked for" 2 "--top" "${query[@]}" a --top 0
check "picture that cannot be written" 2 "cannot write" "${query[@]}" a --attention "$folder/none/a.png"

# --- Ctrl-C while the lines are read ---------------------------------------------------------------------------------
for _ in {1..200}; do cat "$root/samples/search/intents.txt"; done >"$folder/many.txt"
"$program" --device cpu --model "$model" --corpus "$folder/one.txt" --query one >/dev/null 2>&1
cp "$folder/one.txt.heed-index" "$folder/many.txt.heed-index"
cp "$folder/many.txt.heed-index" "$folder/before"
# In a shell without job control, background programs ignore SIGINT; env resets this.
env --default-signal=INT "$program" --device cpu --model "$model" --corpus "$folder/many.txt" --batch 1 --query one \
  >"$folder/interrupted.log" 2>&1 &
pid=$!
for _ in {1..200}; do
  grep -q 'is replaced' "$folder/interrupted.log" 2>/dev/null && break
  sleep 0.02
done
sleep 0.1
kill -INT $pid
wait $pid
code=$?
why=""
[[ $code -eq 130 ]] || why="exit code $code, expected 130: $(tail -n 1 "$folder/interrupted.log"); "
cmp -s "$folder/before" "$folder/many.txt.heed-index" || why+="the index was touched; "
[[ -z $(find "$folder" -name '*.tmp') ]] || why+="a temporary file was left"
report "Ctrl-C leaves the index as it was" "$why"

[[ $failures -eq 0 ]]
