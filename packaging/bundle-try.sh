#!/usr/bin/env bash
# Unpacks the bundle of packaging/bundle.sh in a clean Debian 12 and in a clean Debian 13, which have neither Qt nor X, and
# chats, serves, embeds and opens the window there, without a network. As root; takes minutes.
#   packaging/bundle-try.sh [FOLDER]    with the bundle; default: build/bundle/packages
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
folder=$(realpath "${1:-$root/build/bundle/packages}")
bundle=$(ls "$folder"/satchel-*.tar.xz 2>/dev/null) || die "no bundle in $folder: run packaging/bundle.sh"
[ "$(id -u)" = 0 ] || die "this makes a Debian system in a folder, which needs root"
source "$root/packaging/clean_system.sh"
install_missing $clean_packages $bundle_try_packages

# shows_window PROGRAM: it opens its window on a display of ours, drawn by its own plug-in for X.
shows_window() {
  local display=97 server shown=""
  Xvfb ":$display" -screen 0 1280x800x24 -ac >/dev/null 2>&1 &
  server=$!
  for _ in $(seq 50); do [ -S "/tmp/.X11-unix/X$display" ] && break; sleep 0.1; done
  mkdir -p "$clean/tmp/.X11-unix"
  ln -f "/tmp/.X11-unix/X$display" "$clean/tmp/.X11-unix/"
  offline env DISPLAY=":$display" timeout 20 "$1" --store /root/window >"$clean/window.log" 2>&1 &
  for _ in $(seq 150); do
    shown=$(DISPLAY=":$display" xwininfo -root -tree 2>/dev/null | grep -m1 -E '"Satchel.* [0-9]{3,}x[0-9]{3,}') && break
    sleep 0.1
  done
  kill "$server" && wait
  [ -n "$shown" ] || die "no window: $(cat "$clean/window.log")"
  say "$1 -> $(xargs <<<"$shown")"
}

for release in bookworm trixie; do
  # What every desktop has, and what a programmer has.
  make_clean "$release" fonts-dejavu-core fontconfig-config xkb-data gcc libc6-dev pkg-config
  tar -C "$clean/opt" -xf "$bundle"
  satchel=/opt/$(basename "$bundle" .tar.xz)
  cp "$root/docs/examples/resume.c" "$root/docs/samples/notes.txt" "$clean/root/"

  says '^0$' sh -c "export LD_LIBRARY_PATH=$satchel/lib; find $satchel -name '*.so*' -type f -o -path '*/bin/satchel*' | xargs ldd | grep -c 'not found'"
  says '^satchel 0' $satchel/bin/satchel --version
  says 'rabbit' $satchel/bin/satchel chat --document /root/notes.txt -p "Which pet does Matteo Thorsen keep?"
  serves $satchel/bin/satchel
  shows_window $satchel/bin/satchel-desktop
  says 'built' sh -c "cd /root && PKG_CONFIG_PATH=$satchel/lib/pkgconfig && export PKG_CONFIG_PATH &&
    cc -Wall -Werror resume.c -o resume \$(pkg-config --cflags --libs satchel) -Wl,-rpath,$satchel/lib && echo built"
  resume="cd /root && ./resume $satchel/share/satchel/models/notes-mini-q8_0.gguf /root/store notes.txt"
  says 'bytes, uncompressed.*rabbit' sh -c "$resume 'Which pet does Matteo Thorsen keep?' kill | tr '\n' ' '"
  says ' 0 recomputed' sh -c "$resume 'Which job does Quentin have?'"
done
say "the bundle runs in both"
