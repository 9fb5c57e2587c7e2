#!/usr/bin/env bash
# Gathers what Satchel is built from and a machine with a GPU may lack (no network, no packages), out of this machine's
# Debian packages: GoogleTest's sources, headers, PCRE2's static library. About 15 MB.
#   tests/gpu/pack-needs.sh FOLDER     then, there: tests/gpu/run.sh --needs FOLDER
set -euo pipefail

case "${1:-}" in "" | -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
to=$1
mkdir -p "$to"/{include,lib,src,cmake}
to=$(cd "$to" && pwd)

# take FILE-OR-FOLDER PACKAGE FOLDER-OF-TO
take() {
  if [ ! -e "$1" ]; then
    echo "pack-needs: $1 is not there; install it with: apt-get install $2" >&2
    exit 1
  fi
  cp -rLT "$1" "$to/$3/$(basename "$1")"
}
take /usr/src/googletest googletest src
take /usr/include/eigen3/Eigen libeigen3-dev include
take /usr/include/nlohmann nlohmann-json3-dev include
take /usr/include/xxhash.h libxxhash-dev include
take /usr/include/spdlog libspdlog-dev include
take /usr/include/fmt libfmt-dev include
take /usr/include/pcre2.h libpcre2-dev include
take "$(gcc -print-file-name=libpcre2-8.a)" libpcre2-dev lib

# config NAME TARGET VERSION [DEFINITION …]: headers alone, found as the package of that name.
config() {
  local name=$1 target=$2 version=$3
  shift 3
  cat >"$to/cmake/$name-config.cmake" <<END
get_filename_component(root \${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
if(NOT TARGET $target)
  add_library($target INTERFACE IMPORTED)
  set_target_properties($target PROPERTIES INTERFACE_INCLUDE_DIRECTORIES \${root}/include
                        INTERFACE_COMPILE_DEFINITIONS "$(IFS=';'; echo "$*")")
endif()
END
  cat >"$to/cmake/$name-config-version.cmake" <<END
set(PACKAGE_VERSION $version)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
}
version_of() { dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/[^0-9.].*//'; }
config eigen3 Eigen3::Eigen "$(version_of libeigen3-dev)"
config nlohmann_json nlohmann_json::nlohmann_json "$(version_of nlohmann-json3-dev)"
config spdlog spdlog::spdlog "$(version_of libspdlog-dev)" SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY

du -sh "$to" | sed 's/\t/ in /; s/^/pack-needs: /'
