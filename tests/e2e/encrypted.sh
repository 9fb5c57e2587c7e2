#!/bin/sh
# Chats under a key and back, by the command line. Argument: satchel. Skipped (77) where that was
# built without encryption.
set -eu
satchel=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
unset XDG_DATA_HOME XDG_CACHE_HOME
export HOME="$home" SATCHEL_BACKENDS=/nonexistent
umask 077
key=$home/key wrong=$home/wrong open=$home/open
echo 'correct horse battery' >"$key"
echo 'incorrect horse battery' >"$wrong"
(umask 022 && cp "$key" "$open" && chmod 644 "$open")

fails_with() { # code, command: without a terminal that could be asked
  wanted=$1
  shift
  if setsid -w "$@" >"$home/out" 2>&1; then echo "$* did not fail"; exit 1; fi
  grep -q "\[$wanted\]" "$home/out" || { cat "$home/out"; exit 1; }
}
has_word() { grep -rqi canary "$home/.local" "$home/.cache"; }
has_no_word() { if has_word; then echo "the word stands in a file"; exit 1; fi; }

"$satchel" chat -q --chat a --prompt 'A canary sings at noon.' --max-tokens 2 >/dev/null 2>&1
"$satchel" search canary >/dev/null
has_word
if ! "$satchel" encrypt --key-file "$key" 2>"$home/out"; then
  grep -q 'built without encryption' "$home/out" && exit 77
  cat "$home/out"
  exit 1
fi
has_no_word
fails_with LIBRARY_KEY "$satchel" chats
fails_with LIBRARY_KEY "$satchel" chats --key-file "$wrong"
fails_with LIBRARY_KEY "$satchel" chats --key-file "$open"
fails_with LIBRARY_KEY "$satchel" encrypt --key-file "$wrong"
fails_with LIBRARY_KEY "$satchel" chat --chat a --prompt More --max-tokens 1
"$satchel" chats --key-file "$key" | grep -q ' a$'
"$satchel" search canary --key-file "$key" | grep -qi canary
"$satchel" chat --chat a --prompt More --max-tokens 1 --key-file "$key" 2>&1 | grep -q 'Resumed'
has_no_word
"$satchel" decrypt --key-file "$key"
"$satchel" chats --show a | grep -qi canary
echo encrypted and back
