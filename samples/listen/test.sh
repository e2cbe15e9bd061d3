#!/usr/bin/env bash
# Runs the listen program on good and on bad inputs, with a tiny model of tests/speech that prints nonsense, or with Whisper tiny.en.
# Prints one line per case: "ok NAME" or "FAIL NAME: why".
#   test.sh PROGRAM [FOLDER [WHISPER]]
set -uo pipefail

program=${1:?usage: test.sh PROGRAM [FOLDER [WHISPER]]}
folder=${2:-$(mktemp -d)}
whisper=${3:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
model=$root/tests/speech/english
recording=$root/tests/speech/open-door.wav
source "$root/samples/cases.sh"

# The recording in other formats, and files that are no sound.
python3 - "$recording" "$folder" <<'EOF'
import array, struct, sys, wave
recording, folder = sys.argv[1:]
with wave.open(recording) as file:
    samples = array.array("h", file.readframes(file.getnframes())).tolist()

def save(name, values, width, rate, channels=1):
    """values from -1 to 1 for each frame, repeated for each channel"""
    data = bytearray()
    for value in values:
        if width == 1:
            one = bytes([min(255, max(0, round(value * 128) + 128))])
        elif width == "f":
            one = struct.pack("<f", value)
        else:
            top = 2 ** (8 * width - 1)
            one = min(top - 1, max(-top, round(value * top))).to_bytes(width, "little", signed=True)
        data += one * channels
    size = 4 if width == "f" else width
    kind = 3 if width == "f" else 1
    head = struct.pack("<HHIIHH", kind, channels, rate, rate * channels * size, channels * size, 8 * size)
    body = b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(data)) + bytes(data)
    open(f"{folder}/{name}", "wb").write(b"RIFF" + struct.pack("<I", len(body)) + body)

plain = [s / 32768 for s in samples]
def stretched(times):
    return [plain[i // times] + (plain[min(i // times + 1, len(plain) - 1)] - plain[i // times]) * (i % times) / times
            for i in range(len(plain) * times)]
save("f32.wav", plain, "f", 16000)
save("24.wav", plain, 3, 16000)
save("8.wav", plain, 1, 16000)
save("stereo.wav", stretched(2), 2, 32000, 2)
save("48.wav", stretched(3), 3, 48000)
save("half.wav", plain[::2], 2, 8000)
save("192.wav", stretched(12), 2, 192000)
save("silence.wav", [0.0] * 16000, 2, 16000)
save("nan.wav", plain[:5000] + [float("nan")] + plain[:5000], "f", 16000)
save("empty.wav", [], 2, 16000)
save("long.wav", plain * 3, 2, 16000)
open(f"{folder}/quiet.raw", "wb").write(bytes(4 * 16000))
open(f"{folder}/spoken.raw", "wb").write(array.array("f", [0.0] * 8000 + plain).tobytes())
open(f"{folder}/text.txt", "w").write("This is no sound.\n")
open(f"{folder}/cut.wav", "wb").write(open(recording, "rb").read()[:30])
EOF

# In place of a microphone, SDL reads samples from a file, and then silence.
export SDL_AUDIODRIVER=disk SDL_DISKAUDIOFILEIN=$folder/spoken.raw SDL_DISKAUDIODELAY=8
draws=$([[ $("$program" --help) == *--attention* ]] && echo yes)  # missing without cairo
hears=$([[ $(ldd "$program") == *SDL2* ]] && echo yes)  # missing without SDL2

if [[ -n $whisper ]]; then
  use=(--model "$whisper")
  ids="[4222, 1280, 262, 3420, 290, 804, 2641, 13]"
  says "ids of a recording" "$ids" "${use[@]}" --ids "$recording"
  for form in stereo 48; do says "ids, $form" "$ids" "${use[@]}" --ids "$folder/$form.wav"; done
  for form in 8 half 192; do check "text, $form" 0 'Please open the door and look inside' "${use[@]}" "$folder/$form.wav"; done
  check "text with times" 0 '^\[00:00:00\.[0-9]+ - 00:00:0[23]\.[0-9]+\] Please open the door and look inside\.$' "${use[@]}" "$recording"
  check "subtitles" 0 '^00:00:00,[0-9]+ --> 00:00:0[23],[0-9]+$' "${use[@]}" --srt "$recording"
  [[ -z $hears ]] || check "the microphone" 0 '^\[00:00:00\.[0-9]+ - 00:00:0[234]\.[0-9]+\] Please open the door and look inside\.$' "${use[@]}" --for 6
  words=("${use[@]}" --words "$recording")
  check "words" 0 '^\[00:00:00\.(59|6[0-2])[0-9]* - 00:00:00\.9[0-9]+\] open$' "${words[@]}"
  check "words as subtitles" 0 '^00:00:02,0[0-9]+ --> 00:00:02,4[0-9]+$' --srt "${words[@]}"
  out=$("$program" --device cpu --json "${words[@]}" | python3 -c 'import json, sys; print(*[w["text"] for w in json.load(sys.stdin)[0]["words"]])')
  report "words as JSON" "$([[ $out == "Please open the door and look inside." ]] || echo "$out")"
  if [[ -n $draws ]]; then
    check "a picture" 0 'look inside' "${use[@]}" --attention "$folder/looks.png" "$recording"
    report "the picture is one" "$([[ $(head -c 8 "$folder/looks.png" | od -An -tx1 | tr -d ' \n') == 89504e470d0a1a0a ]] || echo "no PNG")"
  fi
  says "ids of a second of silence" "[345]" "${use[@]}" --ids "$folder/silence.wav"
  out=$("$program" --device cpu "${use[@]}" --json "$recording" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["text"])')
  report "JSON" "$([[ $out == "Please open the door and look inside." ]] || echo "$out")"
  [[ $failures -eq 0 ]]
  exit
fi

# --- Good input --------------------------------------------------------------------------------------------------
tiny=(--model "$model")
first=$("$program" --device cpu "${tiny[@]}" --ids "$recording")
# 51,429 samples; a window of this model has 6,400.
report "a list for each window" "$([[ $(grep -cE '^\[[0-9]+(, [0-9]+)*\]$' <<<"$first") -eq 9 ]] || echo "$first")"
for form in f32 24; do says "the same from $form" "$first" "${tiny[@]}" --ids "$folder/$form.wav"; done
for form in 8 stereo 48 192 half silence; do check "$form" 0 '^\[[0-9, ]*\]$' "${tiny[@]}" --ids "$folder/$form.wav"; done
long=$("$program" --device cpu "${tiny[@]}" --ids "$folder/long.wav")
report "a file that is longer than what is read at once" "$([[ $(wc -l <<<"$long") -eq 25 ]] || echo "$long")"
says "two files" "$first"$'\n'"$first" "${tiny[@]}" --ids "$recording" "$recording"
out=$("$program" --device cpu "${tiny[@]}" --json "$recording" "$recording" |
  python3 -c 'import json, sys
text = sys.stdin.read()
first, end = json.JSONDecoder().raw_decode(text)
second, _ = json.JSONDecoder().raw_decode(text[end:].lstrip())
print(first == second and all(a["begin"] <= a["end"] for a in first))')
report "JSON" "$([[ $out == True ]] || echo "$out")"
# A model may write line feeds, of which a subtitle must not have any.
cp -r "$model" "$folder/lines"
sed -i 's/^f$/aĊĊb/' "$folder/lines/vocabulary.txt"
out=$("$program" --device cpu --model "$folder/lines" --srt "$recording")
report "subtitles are one line" "$([[ $out == *'a  b'* && $(wc -l <<<"$out") -eq $(($(grep -c -- '-->' <<<"$out") * 4 - 1)) ]] || echo "$out")"
check "words of nonsense" 0 '^\[[0-9:. -]+\]' "${tiny[@]}" --words "$recording"
check "times" 0 'tokens/s' "${tiny[@]}" --bench 2 --threads 1 "$recording"
check "times of silence" 0 'nothing is heard' "${tiny[@]}" --bench 1 --pause 0.02 "$folder/silence.wav"
check "weights of f16" 0 '^\[[0-9, ]*\]$' "${tiny[@]}" --weights f16 --cache bf16 --ids "$recording"
check "help" 0 "--model" --help
check "devices" 0 "cpu" --list

# --- Bad input ---------------------------------------------------------------------------------------------------
check "no model" 2 "--model is missing" "$recording"
if [[ -n $hears ]]; then
  SDL_AUDIODRIVER=none check "no microphone" 2 "^listen: there is no microphone: .*none" "${tiny[@]}"
  SDL_DISKAUDIOFILEIN=$folder/no-such.raw check "a microphone that is not there" 2 "there is no microphone" "${tiny[@]}"
  SDL_DISKAUDIOFILEIN=$folder/quiet.raw says "silence in the microphone" "" "${tiny[@]}" --for 1 --pause 0.05
else
  check "no microphone" 2 "built without SDL2" "${tiny[@]}"
fi
check "times without a file" 2 "--bench needs a sound file" "${tiny[@]}" --bench 1
check "ids without a file" 2 "--ids needs a sound file" "${tiny[@]}" --ids
check "a model that is not there" 2 "no-such-folder" --model no-such-folder "$recording"
check "a model that is none" 2 "model.bin" --model "$folder" "$recording"
check "a file that is not there" 2 "no-such.wav" "${tiny[@]}" no-such.wav
check "a file that is no sound" 2 "text.txt" "${tiny[@]}" "$folder/text.txt"
check "a file that is cut off" 2 "cut.wav" "${tiny[@]}" "$folder/cut.wav"
check "a file of no samples" 2 "empty.wav" "${tiny[@]}" "$folder/empty.wav"
check "a sample that is no number" 2 "sample 5000 is" "${tiny[@]}" "$folder/nan.wav"
check "a language that the model has not" 2 "language 'de'" "${tiny[@]}" --language de "$recording"
check "a translation" 2 "does not translate" "${tiny[@]}" --translate "$recording"
check "words of ids" 2 "excludes --words" "${tiny[@]}" --words --ids "$recording"
if [[ -n $draws ]]; then
  check "a picture of two files" 2 "needs one sound file" "${tiny[@]}" --attention "$folder/looks.png" "$recording" "$recording"
  check "a picture that cannot be written" 2 "no-such/looks.png" "${tiny[@]}" --attention "$folder/no-such/looks.png" "$recording"
fi
check "two forms" 2 "excludes" "${tiny[@]}" --ids --json "$recording"
check "a pause that is no number" 2 "not a number" "${tiny[@]}" --pause nan "$recording"
check "a device that is not there" 2 "no-such-device" "${tiny[@]}" --device no-such-device "$recording"
[[ $failures -eq 0 ]]
