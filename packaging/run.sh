#!/usr/bin/env bash
# Installs missing packages, builds Satchel and starts it: the window if there is a display, else the chat in the terminal,
# else the demo. Window and terminal use SmolLM2-135M-Instruct, downloaded once (98 MB; --no-model skips that). The demo, and
# machines without a network, use the bundled notes-mini.
# The CUDA backend is built if there are a GPU and CUDA's compiler (packaging/get-cuda.sh gets it), for the GPU that
# nvidia-smi names; otherwise everything runs on the CPU. SATCHEL_CUDA_CARDS=all, or "75;90", builds it for these GPUs,
# SATCHEL_CUDA=ON requires it, SATCHEL_CUDA=OFF leaves it out.
#   packaging/run.sh [--no-model] [--demo | --terminal | --window] [options of the program]
#   packaging/run.sh --demo --json     one JSON object as the last line
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

fetch=1
if [ "${1:-}" = --no-model ]; then fetch=0; shift; fi
mode=""
case "${1:-}" in
  --demo) mode=demo; shift ;;
  --terminal) mode=terminal; shift ;;
  --window) mode=window; shift ;;
  -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
if [ -z "$mode" ]; then
  if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then mode=window
  elif [ -t 0 ] && [ -t 1 ]; then mode=terminal
  else mode=demo; fi
fi

if [ "${1:-}" = --no-model ]; then fetch=0; shift; fi

# The options that choose the real model, in `chosen`; empty where it cannot be had or another one is asked for.
choose_model() {
  chosen=()
  local argument
  for argument in "$@"; do case $argument in -m | -m* | --model | --model=* | --chat | --chat=*) return 0 ;; esac; done
  local models=${XDG_DATA_HOME:-$HOME/.local/share}/satchel/models failed=$root/build/no-real-model
  if [ -z "$(find "$models" -maxdepth 1 -iname 'SmolLM2-135M-Instruct*.gguf' -print -quit 2>/dev/null)" ]; then
    if [ "$fetch" = 0 ] || [ -e "$failed" ]; then return 0; fi
    say "getting the model SmolLM2-135M-Instruct, once (98 MB; --no-model skips that)"
    if ! { (install_missing $model_packages) && "$root/packaging/get-model.sh"; }; then
      mkdir -p "$root/build" && : >"$failed"  # not again at each start
      say "using the bundled notes-mini; to try again: packaging/get-model.sh"
      return 0
    fi
  fi
  chosen=(--model smollm2-135m-instruct)
}

install_missing $build_packages $run_packages
build "$root/build/release" satchel satchel-desktop satchel_backends -- -DSATCHEL_TESTS=OFF -DSATCHEL_CUDA="${SATCHEL_CUDA:-AUTO}" \
  -DSATCHEL_CUDA_CARDS="${SATCHEL_CUDA_CARDS:-native}"
if grep '^-- CUDA backend: not built' "$root/build/release/build.log" | grep -qv -e 'SATCHEL_CUDA=OFF$' -e 'names no card here'; then
  say "packaging/get-cuda.sh gets a compiler for the CUDA backend"
fi

bin=$root/build/release/bin
chosen=()
[ "$mode" = demo ] || choose_model "$@"
case $mode in
  window) exec "$bin/satchel-desktop" ${chosen[@]+"${chosen[@]}"} "$@" ;;
  terminal) exec "$bin/satchel" chat ${chosen[@]+"${chosen[@]}"} "$@" ;;
  demo) exec "$bin/satchel" demo "$@" ;;
esac
