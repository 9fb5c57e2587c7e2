#!/usr/bin/env bash
# Installs the packages of packaging/deb.sh into a clean Debian system in a folder of its own, uses them there without a
# network, and removes them again. As root; takes minutes.
#   packaging/deb-try.sh [FOLDER]    with the .deb files; default: build/deb/packages
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
folder=$(realpath "${1:-$root/build/deb/packages}")
ls "$folder"/satchel_*.deb >/dev/null 2>&1 || die "no packages in $folder: run packaging/deb.sh"
[ "$(id -u)" = 0 ] || die "this makes a Debian system in a folder, which needs root"
source "$root/packaging/clean_system.sh"
install_missing $clean_packages $deb_try_packages

say "what Debian's and AppStream's checkers find"
lintian --allow-root "$folder"/*.deb || say "lintian is not content; packaging/README.md says what stays"
desktop-file-validate "$root"/packaging/desktop/*.desktop
appstreamcli validate --no-net "$root"/packaging/desktop/*.metainfo.xml

make_clean bookworm
cp "$folder"/*.deb "$root/docs/examples/resume.c" "$root/docs/samples/notes.txt" "$clean/root/"

say "getting what the packages need"
within apt-get update -qq
within sh -c 'apt-get install -yqq --no-install-recommends --download-only /root/*.deb gcc libc6-dev pkg-config zsh' >/dev/null
say "installing, without a network"
offline sh -c 'apt-get install -yqq -o Dpkg::Use-Pty=0 --no-install-recommends /root/*.deb gcc libc6-dev pkg-config zsh' >"$clean/install.log" 2>&1 ||
  die "the packages do not install: $(tail -n 5 "$clean/install.log")"

says '^satchel 0' satchel --version
says 'rabbit' satchel chat --document /root/notes.txt -p "Which pet does Matteo Thorsen keep?"
says 'rabbit' sh -c "printf '/document /root/notes.txt\nWhich pet does Matteo Thorsen keep?\n' | satchel chat --chat kept"
says 'kept' satchel chats
says '/usr/share/satchel/models' satchel info --json
says '^0\.|satchel' env QT_QPA_PLATFORM=offscreen satchel-desktop --version
serves satchel
says '.SS satchel serve' zcat /usr/share/man/man1/satchel.1.gz
says '^serve$' bash -c '. /usr/share/bash-completion/completions/satchel; COMP_WORDS=(satchel ser) COMP_CWORD=1; _satchel; echo "${COMPREPLY[@]}"'
says '^_satchel$' zsh -c 'autoload -U compinit && compinit -u && echo ${_comps[satchel]}'
says '124$' sh -c 'QT_QPA_PLATFORM=offscreen timeout 5 satchel-desktop --store /root/window; echo $?'
says 'built' sh -c 'cd /root && cc -Wall -Werror resume.c -o resume $(pkg-config --cflags --libs satchel) && echo built'
resume='cd /root && ./resume /usr/share/satchel/models/notes-mini-q8_0.gguf /root/store notes.txt'
says 'bytes, uncompressed.*rabbit' sh -c "$resume 'Which pet does Matteo Thorsen keep?' kill | tr '\n' ' '"
says ' 0 recomputed' sh -c "$resume 'Which job does Quentin have?'"

say "removing"
offline apt-get purge -yqq -o Dpkg::Use-Pty=0 '*satchel*' >/dev/null
left=$(find "$clean/usr" "$clean/etc" "$clean/var" -iname '*satchel*' -not -path '*/apt/*' -not -path '*/var/log/*' -not -path '*/cache/*')
[ -z "$left" ] || die "removing the packages leaves $left"
[ -e "$clean/root/store/library.db" ] || die "removing the packages took a user's chats"
say "all packages install, run and are removed; chats stay"
