#!/bin/sh
# No other user may read what the programs leave, also where folders and files with wider modes were
# there before. Arguments: satchel, and satchel-desktop where it is built.
set -eu
umask 022
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
unset XDG_DATA_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR
export HOME="$home" SATCHEL_BACKENDS=/nonexistent QT_QPA_PLATFORM=offscreen
data=$home/.local/share/satchel cache=$home/.cache/satchel
mkdir -p "$data/models" "$cache/lane-tables"
printf '[General]\nappearance=1\n' >"$data/window.ini"
touch "$data/library.lock" "$cache/CACHEDIR.TAG"

"$1" chat --chat a --prompt Hi --max-tokens 1 >/dev/null
"$1" search Hi >/dev/null
"$1" backup "$home/copies" >/dev/null
"$1" chat --store "$home/named" --chat b --prompt Hi --max-tokens 1 >/dev/null
if [ $# -gt 1 ]; then
  "$2" &
  window=$!
  until [ -s "$data/library.lock" ] && [ -e "$data/window.ini" ]; do
    kill -0 $window  # it is still there
    sleep 0.1
  done
  sleep 1  # past the start: from here on a signal closes the window
  kill -TERM $window
  wait $window  # its exit code
  grep -q '^geometry=' "$data/window.ini"  # it wrote its settings
fi
# An outer folder closes what is below it, but a file is to be private by itself.
open=$(find "$data" "$cache" "$home/copies" "$home/named" -maxdepth 0 -perm /077
       find "$data" "$cache" "$home/copies" "$home/named" -type f -perm /077)
[ -z "$open" ] || { echo "others may read: $open"; exit 1; }
echo private
