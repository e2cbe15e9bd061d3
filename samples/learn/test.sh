#!/usr/bin/env bash
# Runs the learn program on good and on bad inputs, with models so small that they learn little. One line per case: "ok NAME" or
# "FAIL NAME: why".
#   test.sh PROGRAM [FOLDER]     HEED_LEARN_DEVICE: another device than the CPU
set -uo pipefail

program=${1:?usage: test.sh PROGRAM [FOLDER]}
folder=${2:-$(mktemp -d)}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
on=(--device "${HEED_LEARN_DEVICE:-cpu}")
source "$root/samples/cases.sh"
same() { report "$1" "$(cmp "$2" "$3" 2>&1)"; }

small=(--layers 1 --width 32 --heads 2 --context 32 --batch 4 --every 1000)
whole=$folder/whole again=$folder/again halves=$folder/halves
steps=2000  # they take at least half a second, so that Ctrl-C arrives before the last one

# --- Good input ----------------------------------------------------------------------------------------------------
check "learns and writes" 0 "step $steps of $steps: loss [0-9.]+, held out [0-9.]+" --out "$whole" --steps $steps "${small[@]}"
missing=$(for name in layers.0.self_attn.in_proj_weight layers.0.self_attn.out_proj.bias layers.0.linear1.weight \
  layers.0.norm2.weight norm.bias out.weight; do grep -a -q "\"$name\"" "$whole/model.safetensors" || echo "no $name"; done)
report "weights have PyTorch's names" "$missing"
report "the curve is a PNG" "$(head -c 4 "$whole/loss.png" | grep -q PNG || echo "it is not")"
first=$(sed -n '1s/.*\t//p' "$whole/losses.tsv") last=$(grep '^held-out' "$whole/losses.tsv" | tail -n 1 | sed 's/.*\t//')
report "the loss of what was held out falls" "$(awk -v a="$first" -v b="$last" 'BEGIN { if (!(b < 0.85 * a)) print a, b }')"
check "the same again" 0 "step $steps of $steps" --out "$again" --steps $steps "${small[@]}"
same "the same bits at a second training" "$whole/model.safetensors" "$again/model.safetensors"

# An interrupted training continues to the same bits.
"$program" "${on[@]}" --out "$halves" --steps $steps "${small[@]}" >"$folder/log" 2>&1 &
pid=$!
while [[ ! -s $folder/log ]] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -INT $pid 2>/dev/null
wait $pid
code=$?
report "Ctrl-C keeps what was learned" "$([[ $code -eq 130 ]] && [[ -s $halves/model.safetensors ]] || echo "exit code $code: $(<"$folder/log")")"
# If the disk is full, here by a limit on file sizes, earlier files stay.
cp -r "$halves" "$folder/before"
full=$(trap '' XFSZ; ulimit -f 100; check "a full disk" 2 "model.safetensors cannot be written" --out "$halves" --steps $steps "${small[@]}")
echo "$full"
[[ $full == ok* ]] || failures=$((failures + 1))
report "a full disk leaves what was there" "$(diff -r "$folder/before" "$halves" 2>&1)"
check "the same command goes on" 0 "step $steps of $steps|^[0-9]+ weights" --out "$halves" --steps $steps "${small[@]}"
same "to the same bits" "$whole/model.safetensors" "$halves/model.safetensors"

# A training whose numbers overflow says so, and can still continue from its folder.
check "a rate that is too large" 0 "step 40 of 40" --out "$folder/wild" --steps 40 --rate 1 "${small[@]}"
sed -i 's/^7\t.*/7\tnan/' "$folder/wild/losses.tsv"
check "a loss that is no number" 0 "Adam" --out "$folder/wild" --start Adam --steps 40

check "writes with what was learned" 0 "Adam" --out "$whole" --write 50 --start "Adam"
a=$("$program" "${on[@]}" --out "$whole" --write 80 2>/dev/null) b=$("$program" "${on[@]}" --out "$whole" --write 80 2>/dev/null)
report "writes the same at the same seed" "$([[ -n $a && $a == "$b" ]] || echo "'$a' and '$b'")"
printf 'x\xff\xfe\x00y%.0s' {1..2000} >"$folder/bytes"
check "a text of any bytes" 0 "step 5 of 5" --text "$folder/bytes" --out "$folder/of-bytes" --steps 5 "${small[@]}"
check "help" 0 "--text" --help

# --- A language model that learns a voice ----------------------------------------------------------------------------
tiny=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/tests/talk/tiny.gguf
for i in {1..24}; do printf '> the sword %s\nin the on or er\n' "$i"; done >"$folder/lines"
voice=(--lora "$folder/lines" --model "$tiny" --steps 40 --batch 2 --rank 4 --rate 0.02 --every 1000)
check "learns a voice" 0 "step 40 of 40: loss [0-9.]+, held out [0-9.]+" --out "$folder/voice" "${voice[@]}"
first=$(sed -n '1s/.*\t//p' "$folder/voice/losses.tsv") last=$(grep '^held-out' "$folder/voice/losses.tsv" | tail -n 1 | sed 's/.*\t//')
report "the loss of lines that were held out falls" "$(awk -v a="$first" -v b="$last" 'BEGIN { if (!(b < 0.5 * a)) print a, b }')"
check "answers before and after, side by side" 0 "> What should I do tomorrow[?]" --out "$folder/voice" "${voice[@]}"
check "what it learned is among them" 0 "[|] .*in the on or er" --out "$folder/voice" "${voice[@]}"
adapters=$folder/voice/adapters
missing=$(for name in lora_A lora_B; do
  grep -a -q "\"base_model.model.model.layers.1.self_attn.q_proj.$name.weight\"" "$adapters/adapter_model.safetensors" || echo "no $name"
done)
report "adapters have PEFT's names" "$missing"
report "and PEFT's settings" "$(grep -q '"peft_type": "LORA"' "$adapters/adapter_config.json" || echo "none")"
rm "$folder/log"
"$program" "${on[@]}" --out "$folder/voice-halves" "${voice[@]}" >"$folder/log" 2>&1 &
pid=$!
while [[ ! -s $folder/log ]] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid 2>/dev/null
wait $pid
code=$?
report "Ctrl-C keeps a voice" "$([[ $code -eq 130 || $code -eq 0 ]] && [[ -s $folder/voice-halves/model.safetensors ]] || echo "exit code $code: $(<"$folder/log")")"
check "the same command goes on with it" 0 "before and after" --out "$folder/voice-halves" "${voice[@]}"
same "to the same adapters" "$adapters/adapter_model.safetensors" "$folder/voice-halves/adapters/adapter_model.safetensors"

# --- Bad input -----------------------------------------------------------------------------------------------------
check "no such text" 2 "cannot be read" --text "$folder/none" --out "$folder/n" "${small[@]}"
echo short >"$folder/short"
check "a text that is too short" 2 "are needed, or a shorter --context" --text "$folder/short" --out "$folder/n" "${small[@]}"
check "another text than before" 2 "was trained on another text" --text "$folder/bytes" --out "$whole"
check "writing before learning" 2 "has no saved model" --out "$folder/n" --write 10
check "a width that heads do not divide" 2 "multiple of twice" --out "$folder/n" --width 36 --heads 4
check "no such lines" 2 "cannot be read" --lora "$folder/none" --model "$tiny" --out "$folder/n"
check "a file without lines" 2 "no line that begins with" --lora "$folder/short" --model "$tiny" --out "$folder/n"
printf '> unanswered\n' >"$folder/unanswered"
check "a line without an answer" 2 "has no answer to" --lora "$folder/unanswered" --model "$tiny" --out "$folder/n"
check "no model" 2 "--model" --lora "$folder/lines" --out "$folder/n"
check "a model that is none" 2 "short" --lora "$folder/lines" --model "$folder/short" --out "$folder/n"
check "other lines than before" 2 "was trained on other lines" --lora <(sed 's/or/er/' "$folder/lines") --model "$tiny" --out "$folder/voice"
check "a folder of the other mode" 2 "no model for this mode" --lora "$folder/lines" --model "$tiny" --out "$whole"
on=(--device nonsense)
check "no such device" 2 "no device" --out "$folder/n" "${small[@]}"
on=(--device cpu)
check "a rate that is no number" 2 "rate" --rate nan --out "$folder/n"
cp -r "$whole" "$folder/damaged"
head -c 1000 "$whole/model.safetensors" >"$folder/damaged/model.safetensors"
check "damaged weights" 2 "model.safetensors" --out "$folder/damaged" --write 10
echo '{' >"$folder/damaged/config.json"
check "a damaged model" 2 "no model for this mode" --out "$folder/damaged" --write 10
touch "$folder/file"
check "a folder that cannot be made" 2 "cannot be written" --out "$folder/file/x" --steps 2 "${small[@]}"

exit $((failures > 0))
