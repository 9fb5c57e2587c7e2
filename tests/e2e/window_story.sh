#!/bin/sh
# The program as people have it, in front of an X server, driven by keys from outside: a question, a kill while it answers,
# the part of the answer that had come, on from there, and Ctrl+H. What is saved says whether it worked; no pixel does.
# Arguments: satchel, satchel-desktop, write_chain, the folder of the fake GPU. Skipped (77) without Xvfb or xdotool.
set -eu
for tool in Xvfb xdotool; do
  command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
satchel=$1 desktop=$2 write_chain=$3 fake_gpu=$4
home=$(mktemp -d)
server='' window='' engine=''
end() {
  code=$?
  [ $code = 0 ] || { cat "$home"/*.log; shown 2>/dev/null; } || true
  kill -9 $window $engine $server 2>/dev/null || true
  rm -rf "$home"
  exit $code
}
trap end EXIT
unset XDG_DATA_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR WAYLAND_DISPLAY
export HOME="$home" SATCHEL_BACKENDS=/nonexistent QT_QPA_PLATFORM=xcb LC_ALL=C.UTF-8
lock=$home/.local/share/satchel/library.lock
question='tell me all about the harbour'

shown() { "$satchel" chats -q --show "$question"; }
# Tries until it works: for two minutes, a hang and not slowness.
until_works() {
  n=0
  until "$@" >/dev/null 2>&1; do
    n=$((n + 1))
    [ $n -lt 1200 ] || { echo "this did not come true: $*"; exit 1; }
    kill -0 $window || { echo "the window ended"; exit 1; }
    sleep 0.1
  done
}
key() { xdotool key --clearmodifiers "$@"; }
# Without a window manager nobody else gives the window the keys.
has_keys() {
  id=$(xdotool search --onlyvisible --name 'Satchel$' | head -n 1) && [ -n "$id" ] &&
    xdotool windowfocus "$id" && [ "$(xdotool getwindowfocus)" = "$id" ]
}
# Return sends what is written, once, as soon as it can be sent.
send() {
  xdotool type --delay 30 "$1"
  until_works is_sent "$1"
}
is_sent() { shown | grep -qx "$1" || { key Return; false; }; }
# The second answer has ended: its model repeats itself until that ends it, and then it counts as whole.
has_gone_on() {
  [ "$(shown | grep -c '^\[assistant')" = 2 ] && ! shown | grep -qx '\[assistant, streaming\]'
}
of_answer() { shown | sed -n "/^\\[assistant, $1\\]\$/,\$p" | sed 1d; }
has_title() { xdotool getwindowname "$id" | grep -q "$1"; }

begin() {
  "$desktop" --threads 1 --model "$home/chain.gguf" >>"$home/window.log" 2>&1 &
  window=$!
  until_works test -s "$lock"
  engine=$(cat "$lock")
  until_works has_keys
}

"$write_chain" "$home/chain.gguf"
Xvfb -displayfd 1 -screen 0 1280x900x24 -nolisten tcp -noreset >"$home/display" 2>"$home/server.log" &
server=$! window=$!
until_works test -s "$home/display"
DISPLAY=:$(cat "$home/display")
export DISPLAY

# The GPU's driver hangs in the middle of the answer (tests/libraries/fake_gpu.cpp), and is killed there.
export SATCHEL_BACKENDS="$fake_gpu" SATCHEL_TEST_GPU_LOST_AT=400 SATCHEL_TEST_GPU_DRIVER=hangs
begin
send "$question"
has_part() { part=$(of_answer streaming) && [ -n "$part" ]; }
until_works has_part
kill -9 $window $engine
wait $window || true
rm "$lock"

export SATCHEL_BACKENDS=/nonexistent
begin
key ctrl+k
xdotool type --delay 30 harbour
has_opened() { key Return && has_title "$question"; }
until_works has_opened
[ "$(of_answer interrupted)" = "$part" ]
xdotool mousemove --window "$id" 590 790 click 1  # the input box
send continue
until_works has_gone_on
[ "$(of_answer interrupted | sed '/^\[user\]$/,$d')" = "$part" ]
key ctrl+h
kill -TERM $window
wait $window
window='' engine=''
echo "what had come of the answer is there, and the chat goes on"
