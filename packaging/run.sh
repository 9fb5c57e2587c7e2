#!/usr/bin/env bash
# Installs what is missing, builds Satchel and starts it with the bundled model: the window where there is a display, the
# chat in the terminal where there is a terminal, otherwise the demo.
#   packaging/run.sh [--demo | --terminal | --window] [options of the program started]
#   packaging/run.sh --demo --json     one JSON object as the last line
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mode=""
case "${1:-}" in
  --demo) mode=demo; shift ;;
  --terminal) mode=terminal; shift ;;
  --window) mode=window; shift ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
if [ -z "$mode" ]; then
  if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then mode=window
  elif [ -t 0 ] && [ -t 1 ]; then mode=terminal
  else mode=demo; fi
fi

install_missing $build_packages $run_packages
build "$root/build/release" satchel satchel-desktop -- -DSATCHEL_TESTS=OFF

bin=$root/build/release/bin
case $mode in
  window) exec "$bin/satchel-desktop" "$@" ;;
  terminal) exec "$bin/satchel" chat "$@" ;;
  demo) exec "$bin/satchel" demo "$@" ;;
esac
