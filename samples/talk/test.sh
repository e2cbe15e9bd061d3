#!/usr/bin/env bash
# Runs the talk program on good and on bad inputs, with the tiny model of tests/talk, or with SmolLM2 and, if their files exist,
# Gemma 3 and Whisper. One line per case: "ok NAME" or "FAIL NAME: why".
#   test.sh PROGRAM [FOLDER [SMOLLM2 [WHISPER [GEMMA3]]]]
set -uo pipefail

program=${1:?usage: test.sh PROGRAM [FOLDER [SMOLLM2 [WHISPER [GEMMA3]]]]}
folder=${2:-$(mktemp -d)}
smollm2=${3:-} whisper=${4:-} gemma3=${5:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
model=$root/tests/talk/tiny.gguf
source "$root/samples/cases.sh"
export SDL_AUDIODRIVER=none

# is_picture FILE LEAST_WIDTH LEAST_HEIGHT: checks for a PNG of at least this size with more than one colour
is_picture() {
  [[ -s $1 && $(head -c 8 "$1" | od -An -tx1 | tr -d ' \n') == 89504e470d0a1a0a ]] || return 1
  python3 - "$@" <<'EOF'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
width, height = struct.unpack(">II", data[16:24])
at, packed = 8, b""
while at < len(data):
    size, = struct.unpack(">I", data[at:at + 4])
    if data[at + 4:at + 8] == b"IDAT":
        packed += data[at + 8:at + 8 + size]
    at += size + 12
sys.exit(0 if width >= int(sys.argv[2]) and height >= int(sys.argv[3]) and len(set(zlib.decompress(packed))) > 40 else 1)
EOF
}

# looks NAME LEAST_WIDTH LEAST_HEIGHT PATTERN ARGUMENTS...   the arguments draw the last word's attention, and print PATTERN
looks() {
  local name=$1 width=$2 height=$3 pattern=$4
  shift 4
  rm -f "$folder/looks.png"
  check "$name" 0 "$pattern" --attention "$folder/looks.png" "$@"
  report "$name: the picture" "$(is_picture "$folder/looks.png" "$width" "$height" || echo "no picture of $width x $height")"
}
hears=$([[ $("$program" --help) == *--listen* ]] && echo yes)  # missing without libsndfile
draws=$([[ $("$program" --help) == *--attention* ]] && echo yes)  # missing without cairo

if [[ -n $smollm2 ]]; then
  use=(--model "$smollm2" --temperature 0)
  says "a continuation" ", \"A fine day to speak of the art of crafting. I've been working on a new piece, one that" \
    "${use[@]}" --raw --prompt "The blacksmith looked up from his anvil and said" --tokens 24
  says "its ids" "[260, 3003, 14797, 282, 260, 1205, 3323, 42]" \
    "${use[@]}" --raw --ids --prompt "The three primary colours are" --tokens 8
  printf 'The three primary colours are<|im_end|>' >"$folder/text.txt"
  says "a file's ids" "[504, 1296, 3003, 14797, 359, 2]" "${use[@]}" --tokenize "$folder/text.txt"
  for who in blacksmith innkeeper dragon; do
    check "an answer of the $who" 0 '[A-Za-z]' "${use[@]}" --persona $who --prompt "Who are you?" --tokens 16
  done
  check "perplexity" 0 '^perplexity 32\.57[0-9]+ over 194 tokens$' "${use[@]}" --perplexity "$root/tests/talk/story.txt"
  check "perplexity with rounded rows" 0 '^perplexity 32\.[5-9][0-9]+ over 194 tokens$' "${use[@]}" --round-rows --perplexity "$root/tests/talk/story.txt"
  schema=(--schema "$root/samples/talk/answers/npc.schema.json" --repetition-penalty 1)
  says "an answer as JSON" \
    '{"mood": "grumpy", "text": "A dragon? You'"'"'re a coward, I'"'"'ll give you a chance.", "action": "attack"}' \
    "${use[@]}" --persona "$root/samples/talk/personas/guard.txt" "${schema[@]}" --prompt "A dragon comes! Run!"
  printf 'root ::= ("Yes" | "No") ", " [a-z ]{3,40} "."' >"$folder/yes.gbnf"
  check "an answer under a grammar" 0 '^(Yes|No), [a-z ]{3,40}\.$' "${use[@]}" --grammar "$folder/yes.gbnf" --prompt "Do you like dragons?"
  [[ -z $draws ]] || looks "what a word looks at" 2000 1000 '30 layers, 9 heads, 8 words$' "${use[@]}" \
    --prompt "The blacksmith put down his hammer because he"
  if [[ -n $hears && -f $whisper/model.bin ]]; then
    out=$(timeout 900 "$program" --device cpu "${use[@]}" --ears "$whisper" --listen "$root/tests/speech/open-door.wav" --tokens 12 2>&1 | tail -n 2)
    report "an answer to what was said" "$([[ $out == "Please open the door and look inside."$'\n'"Bram: "[A-Z]* ]] || echo "${out:0:300}")"
  fi
  check "eight at once" 0 '8 conversations, [0-9]+ tokens' "${use[@]}" --npcs 8 --prompt "Who are you?" --tokens 8
  if [[ -f $gemma3 ]]; then
    use=(--model "$gemma3" --context 256 --temperature 0)
    says "a base model goes on" " 100 degrees Celsius." "${use[@]}" --prompt "Water boils at a temperature of" --tokens 7
    says "its ids" "[236743, 236770, 236771, 236771, 10674, 57356, 236761]" \
      "${use[@]}" --raw --ids --prompt "Water boils at a temperature of" --tokens 7
    check "why it holds no conversation" 2 "no chat template" "${use[@]}"
    printf 'if x:\n    y<end_of_turn>' >"$folder/text.txt"
    says "ids of its file" "[584, 1123, 236787, 107, 140, 236762, 106]" "${use[@]}" --tokenize "$folder/text.txt"
    printf 'root ::= " " [a-z ]{3,20} "."' >"$folder/words.gbnf"
    check "an answer of it under a grammar" 0 '^ [a-z ]{3,20}\.$' "${use[@]}" --grammar "$folder/words.gbnf" --prompt "The sky is"
  fi
  [[ $failures -eq 0 ]]
  exit
fi

# --- Good input --------------------------------------------------------------------------------------------------
tiny=(--model "$model" --context 128)
raw=("${tiny[@]}" --raw --temperature 0 --prompt "the sword")
check "ids are a list of so many" 0 '^\[[0-9]+(, [0-9]+){0,11}\]$' "${raw[@]}" --tokens 12 --ids
first=$("$program" --device cpu "${raw[@]}" --tokens 12 --ids)
says "the same ids again" "$first" "${raw[@]}" --tokens 12 --ids
printf 'the sword<|im_end|>' >"$folder/text.txt"
check "a file's ids, special tokens read" 0 '^\[.*, 2\]$' "${tiny[@]}" --tokenize "$folder/text.txt"
printf 'the \xff\xfe sword' >"$folder/broken.txt"
check "ids of a file that is not UTF-8" 0 '^\[[0-9, ]+\]$' "${tiny[@]}" --tokenize "$folder/broken.txt"
: >"$folder/empty.txt"
says "ids of an empty file" "[]" "${tiny[@]}" --tokenize "$folder/empty.txt"
long=$(printf 'the sword %.0s' {1..100})
printf '%s' "$long" >"$folder/long.txt"
check "perplexity of a text longer than the context" 0 '^perplexity [0-9.]+ over [0-9]+ tokens$' "${tiny[@]}" --perplexity "$folder/long.txt"
out=$(printf 'hello\n/help\n/meet dragon\nhello\n/forget\nhello\n/bye\nnot read\n' |
  timeout 900 "$program" --device cpu "${tiny[@]}" --context 1024 --tokens 4 2>&1 | tr -d '\0')
report "a conversation from a pipe" "$([[ $(grep -ac '^Vermathrax: ' <<<"$out") -ge 4 && $(grep -ac '^Bram: ' <<<"$out") -ge 2 ]] || echo "${out:0:500}")"
out=$(printf 'broken \xff line\nhello\n' | timeout 900 "$program" --device cpu "${tiny[@]}" --context 1024 --tokens 4 2>&1 | tr -d '\0')
report "a line that is not UTF-8 ends nothing" "$(grep -aq 'not UTF-8' <<<"$out" && [[ $(grep -ac '^Bram: ' <<<"$out") -ge 2 ]] || echo "${out:0:300}")"
says_now() { timeout 60 "$program" --device cpu "${tiny[@]}" --context 1024 --tokens 8 --seed 3 2>&1 | tr -d '\0'; }
printf 'hello\n/meet dragon\nhello\n/meet blacksmith\n/save %s\nAgain?\n/meet dragon\nAgain?\n' "$folder/cast" | says_now >"$folder/said"
out=$(printf '/load %s\nAgain?\n/meet dragon\nAgain?\n' "$folder/cast" | says_now)
report "saved characters go on" "$([[ $(tail -n 2 "$folder/said") == "$(tail -n 2 <<<"$out")" && $(tail -n 1 <<<"$out") == "Vermathrax: "* ]] || echo "${out:0:300}")"
report "they take a few KB" "$([[ $(wc -c <"$folder/cast") -lt 12000 ]] || wc -c "$folder/cast")"
head -c 900 "$folder/cast" >"$folder/half.cast"
out=$(printf '/load %s\n/load no-such-file\n/load %s\n/save no-such-folder/cast\nhello\n' "$folder/half.cast" "$model" | says_now)
report "damaged ones are refused, and the talk goes on" "$([[ $out == *damaged* && $out == *"no-such-file cannot be read"* &&
  $out == *"no-such-folder/cast cannot be written"* && $(tail -n 1 <<<"$out") == "Bram: "* ]] || echo "${out:0:500}")"
check "three at once" 0 '^3 conversations, [0-9]+ tokens' "${tiny[@]}" --context 1024 --npcs 3 --tokens 4
if [[ -n $hears ]]; then
  ears=(--ears "$root/tests/speech/english")
  check "nonsense that was heard is answered" 0 'Bram: ' "${tiny[@]}" --context 1024 "${ears[@]}" --listen "$root/tests/speech/open-door.wav" --tokens 4
  check "a microphone that is not there" 2 "there is no microphone" "${tiny[@]}" --context 1024 "${ears[@]}" --listen
  check "listening without ears" 2 "needs --ears" "${tiny[@]}" --listen
  check "listening and a prompt" 2 "excludes --prompt" "${tiny[@]}" "${ears[@]}" --listen --prompt x
  check "a recording that is not there" 2 "no-such.wav" "${tiny[@]}" --context 1024 "${ears[@]}" --listen no-such.wav
  check "ears that are not there" 2 "no-such-folder" "${tiny[@]}" --ears no-such-folder --listen
fi
cat >"$folder/npc.json" <<'EOF'
{"properties": {"mood": {"enum": ["calm", "grumpy"]}, "text": {"type": "string", "maxLength": 12}}, "required": ["mood", "text"]}
EOF
for seed in 1 2 3; do
  # Python's JSON reader must accept the answer.
  out=$(timeout 900 "$program" --device cpu "${tiny[@]}" --raw --prompt "the sword" --tokens 0 --temperature 1 --top-k 0 --seed $seed \
    --schema "$folder/npc.json" 2>&1 | python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))' 2>&1)
  report "JSON of a model that speaks nonsense, seed $seed" "$([[ $out == "['mood', 'text']" ]] || echo "${out:0:300}")"
done
printf 'root ::= "a"{3} b\nb ::= [xy]' >"$folder/abc.gbnf"
check "an answer under a grammar" 0 '^aaa[xy]$' "${tiny[@]}" --raw --prompt "the sword" --grammar "$folder/abc.gbnf"
if [[ -n $draws ]]; then
  looks "what a word looks at" 600 200 '2 layers, 4 heads, 3 words$' "${tiny[@]}" --prompt "the sword in"
  looks "one word" 600 200 '2 layers, 4 heads, 1 words$' "${tiny[@]}" --prompt "x"
  looks "odd words" 600 200 '2 layers, 4 heads, 64 words$' "${tiny[@]}" --prompt "$(printf '<|im_start|>\n\x01 ä 龍龍'; printf '!%.0s' {1..57})"
  check "too many words for a picture" 2 "a picture has room for 64" "${tiny[@]}" --attention "$folder/looks.png" \
    --prompt "$(printf '!%.0s' {1..65})"
  check "a picture of no prompt" 2 "needs --prompt" "${tiny[@]}" --attention "$folder/looks.png"
  check "a picture that cannot be written" 2 "cannot write" "${tiny[@]}" --attention "$folder/no-such/looks.png" --prompt "x"
fi
check "help" 0 "--persona" --help
check "devices" 0 "cpu" --list

# --- Ctrl-C ends an answer with the exit code of an interrupt, but does not end a conversation ------------------------
"$program" --device cpu "${tiny[@]}" --raw --prompt "the sword" --temperature 2 --top-k 0 --stop "never said" >"$folder/endless" 2>&1 &
running=$!
sleep 1
kill -INT $running 2>/dev/null
wait $running
code=$?
report "Ctrl-C" "$([[ $code -eq 130 || $code -eq 0 ]] || echo "exit code $code")"

# --- Bad input ---------------------------------------------------------------------------------------------------
check "no model" 2 "--model is missing"
check "a model that is not there" 2 "no-such.gguf" --model no-such.gguf --prompt x
check "a model that is none" 2 "talk: " --model "$folder/text.txt" --prompt x
head -c 40000 "$model" >"$folder/half.gguf"
check "half of a model" 2 "half.gguf" --model "$folder/half.gguf" --prompt x
check "a device that is not there" 2 "no-such-device" "${tiny[@]}" --device no-such-device --prompt x
check "an empty prompt" 2 "--prompt is empty" "${tiny[@]}" --prompt ""
check "raw without a prompt" 2 "needs --prompt" "${tiny[@]}" --raw
check "a prompt that is not UTF-8" 2 "not UTF-8" "${tiny[@]}" --raw --prompt $'\xff'
check "a prompt of too many tokens" 2 "the context has room for 128" "${tiny[@]}" --raw --prompt "$long"
check "a temperature that is no number" 2 "not a number" "${tiny[@]}" --prompt x --temperature nan
check "too many characters" 2 "npcs" "${tiny[@]}" --npcs 1000
check "a persona that is not there" 2 "cannot be read" "${tiny[@]}" --persona nobody --prompt x
check "a persona that is none" 2 "is no persona" "${tiny[@]}" --persona "$folder/text.txt" --prompt x
printf 'name: X\n---\nYou are X.\n---\n> Hello\n' >"$folder/silent.txt"
check "an example without an answer" 2 "has no answer" "${tiny[@]}" --persona "$folder/silent.txt" --prompt x
printf 'root ::= "a"\n  ( "b"' >"$folder/broken.gbnf"
check "a grammar that is none" 2 "line 2, column 3: this group has no end" "${tiny[@]}" --grammar "$folder/broken.gbnf" --prompt x
check "a grammar that is not there" 2 "cannot be read" "${tiny[@]}" --grammar "$folder/no-such-file" --prompt x
printf '{"$ref": "x"}' >"$folder/ref.json"
check "a schema that is not understood" 2 "ref' is not understood" "${tiny[@]}" --schema "$folder/ref.json" --prompt x
check "a grammar and a schema" 2 "excludes" "${tiny[@]}" --grammar "$folder/abc.gbnf" --schema "$folder/npc.json" --prompt x
check "a file that is not there" 2 "cannot be read" "${tiny[@]}" --tokenize "$folder/no-such-file"
check "perplexity of an empty file" 2 "fewer than two tokens" "${tiny[@]}" --perplexity "$folder/empty.txt"
[[ $failures -eq 0 ]]
