#!/bin/sh
# The window's engine is a process of its own, and ends with it, however it ends. Argument:
# satchel-desktop.
set -eu
home=$(mktemp -d)
window='' engine=''
trap 'kill -9 $window $engine 2>/dev/null || true; rm -rf "$home"' EXIT
unset XDG_DATA_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR
export HOME="$home" SATCHEL_BACKENDS=/nonexistent QT_QPA_PLATFORM=offscreen
lock=$home/.local/share/satchel/library.lock

begin() {
  "$@" &
  window=$!
  until [ -s "$lock" ]; do
    kill -0 $window
    sleep 0.1
  done
  engine=$(cat "$lock")
  sleep 1  # past the start: from here on a signal closes the window
}
until_gone() {
  n=0
  while kill -0 "$1" 2>/dev/null; do
    n=$((n + 1))
    [ $n -lt 300 ] || { echo "process $1 is still there"; exit 1; }
    sleep 0.1
  done
}

begin "$1"
[ "$engine" != $window ]
grep -qz engine-process "/proc/$engine/cmdline"
# Its signals are the window's: a terminal's Ctrl-C and a session's end reach both.
kill -INT "$engine"
kill -TERM "$engine"
sleep 0.5
kill -0 "$engine"
kill -9 $window
until_gone "$engine"
rm "$lock"

begin "$1"
kill -9 "$engine"
sleep 1
kill -0 $window  # it is still there
kill -TERM $window
wait $window
rm "$lock"

begin "$1" --in-process
[ "$engine" = $window ]
kill -TERM $window
wait $window
echo "the engine ends with its window"
