#!/usr/bin/env bash
# Builds satchel-VERSION-linux-x86_64.tar.xz: the programs and libsatchel with all libraries that they need, Qt included, to
# be unpacked anywhere on a Linux that is no older than this one. On Debian 12 that is glibc 2.36.
#   packaging/bundle.sh [FOLDER]    default: build/bundle/packages
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
folder=$(realpath -m "${1:-$root/build/bundle/packages}")
# Not bundled: drivers and plug-ins of the system load them too, and want their own, newer ones.
of_the_system="libc6 libgcc-s1 libstdc++6"
plugins="platforms/libqxcb platforms/libqwayland-generic platforms/libqoffscreen wayland-shell-integration/libxdg-shell
  wayland-decoration-client/libbradient platforminputcontexts/libcomposeplatforminputcontextplugin
  platforminputcontexts/libibusplatforminputcontextplugin"

install_missing $build_packages $bundle_packages
# An RPATH and not a RUNPATH: it also holds for what Qt's libraries need.
build "$root/build/bundle" satchel_core satchel_all satchel satchel_described satchel-desktop satchel_desktop_described -- \
  -DCMAKE_INSTALL_LIBDIR=lib '-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
  -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags -DSATCHEL_TESTS=OFF -DSATCHEL_CUDA=OFF -DSATCHEL_STATIC=OFF
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$root/build/bundle/CMakeCache.txt")
name=satchel-$version-linux-$(uname -m)
tree=$root/build/bundle/$name
rm -rf "$tree"
for component in satchel satchel-desktop satchel-model-notes libsatchel1 libsatchel-dev; do
  cmake --install "$root/build/bundle" --prefix "$tree" --strip --component "$component" >>"$root/build/bundle/build.log"
done

say "gathering what they need"
qt=$(qmake6 -query QT_INSTALL_PLUGINS)
for plugin in $plugins; do install -D -m 644 -t "$tree/lib/qt6/plugins/${plugin%/*}" "$qt/$plugin.so"; done
texts=$(qmake6 -query QT_INSTALL_TRANSLATIONS)
for language in de fr; do install -D -m 644 -t "$tree/lib/qt6/translations" "$texts/qtbase_$language.qm"; done
printf '[Paths]\nPrefix = ..\nPlugins = lib/qt6/plugins\nTranslations = lib/qt6/translations\n' >"$tree/bin/qt.conf"
doc=$tree/share/doc
packages=$(dpkg -S "$qt/platforms/libqxcb.so" "$qt/platforms/libqwayland-generic.so" "$texts/qtbase_de.qm" | cut -d: -f1)
while read -r library; do
  file=$(realpath "$library")
  package=$({ dpkg -S "$file" "${file#/usr}" 2>/dev/null || true; } | sed -n '1s/:.*//p')
  [[ " $of_the_system " != *" $package "* ]] || continue
  install -m 644 "$file" "$tree/lib/$(basename "$library")"
  packages+=$'\n'$package
done < <(find "$tree" -name '*.so*' -type f -o -path '*/bin/satchel*' -type f | xargs ldd | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -v "^$tree" | sort -u)

say "their licences, and where their sources are"
packages=$(sort -u <<<"$packages")
for package in $packages; do install -D -m 644 "/usr/share/doc/$package/copyright" "$doc/$package/copyright"; done
cp -rL /usr/share/common-licenses "$doc/common-licenses"
{ cat "$root/packaging/bundle/SOURCES"; dpkg-query -W -f '${source:Package} ${source:Version}\n' $packages | sort -u; } >"$doc/SOURCES"
cp "$root/packaging/bundle/README" "$tree/"

mkdir -p "$folder"
find "$tree" -type d -exec chmod 755 {} +
tar -C "$root/build/bundle" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | xz -T 0 >"$folder/$name.tar.xz"
(cd "$folder" && ls -s --block-size=1 -- "$name.tar.xz")
