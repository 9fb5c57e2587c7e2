#!/usr/bin/env bash
# Builds the Debian packages of this tree, on the Debian release that they are for.
#   packaging/deb.sh [FOLDER]    default: build/deb/packages
#   SATCHEL_DESKTOP=OFF          without the window, and without Qt
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
folder=$(realpath -m "${1:-$root/build/deb/packages}")
desktop=${SATCHEL_DESKTOP:-ON}
targets=(satchel_core satchel_all satchel_static satchel satchel_described)
[ "$desktop" = OFF ] || targets+=(satchel-desktop satchel_desktop_described)

install_missing $build_packages $deb_packages
# The prefix decides where Debian wants libraries; nothing is installed there.
build "$root/build/deb" "${targets[@]}" -- -DCMAKE_INSTALL_PREFIX=/usr -DSATCHEL_TESTS=OFF -DSATCHEL_CUDA=OFF -DSATCHEL_DESKTOP="$desktop"
mkdir -p "$folder"
rm -f "$folder"/*.deb
(cd "$root/build/deb" && cpack -G DEB -B "$folder" >pack.log 2>&1) || die "packing failed: $(tail -n 8 "$root/build/deb/pack.log")"
rm -rf "$folder/_CPack_Packages"
(cd "$folder" && ls -s --block-size=1 -- *.deb)
