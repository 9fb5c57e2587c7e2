# Sourced by run.sh, test.sh and get-cuda.sh: packages, builds, compilers. Every step says what it does and fails with one line.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PATH=$PATH:/usr/lib/wsl/lib  # where Windows puts nvidia-smi, which sudo's PATH lacks

say() { [ "${quiet:-0}" = 1 ] || printf 'satchel: %s\n' "$*" >&2; }
die() { printf 'satchel: %s\n' "$*" >&2; exit 1; }

build_packages="g++ cmake ninja-build ccache pkg-config libspdlog-dev libsqlite3-dev libzstd-dev nlohmann-json3-dev libcli11-dev libcpp-httplib-dev libssl-dev libxxhash-dev libpcre2-dev libeigen3-dev libxml2-dev libzip-dev qt6-base-dev qt6-tools-dev qt6-l10n-tools"
run_packages="fonts-dejavu-core qt6-translations-l10n"
model_packages="python3-pip unzip"
test_packages="libgtest-dev libgmock-dev libboost-context-dev libboost-stacktrace-dev libsentencepiece-dev binutils abigail-tools procps python3-pip unzip python3-venv python3-torch python3-numpy python3-sentencepiece python3-protobuf libopenblas0-pthread poppler-utils xvfb xdotool"

deb_packages="dpkg-dev file gzip"
deb_try_packages="lintian desktop-file-utils appstream"
bundle_packages="qt6-wayland qt6-translations-l10n xz-utils file"
bundle_try_packages="xvfb x11-utils"

# Installs the named Debian packages that are missing, as root or through sudo.
install_missing() {
  command -v dpkg-query >/dev/null || die "this script installs Debian packages, but this system has no dpkg. Install the packages listed in packaging/common.sh yourself, then build with: cmake --preset release -DSATCHEL_TESTS=OFF -DSATCHEL_WERROR=OFF && cmake --build --preset release"
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
    as_root="sudo"
  fi
  say "installing ${missing[*]}"
  local log; log=$(mktemp)
  if ! { $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
         $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    die "apt-get could not install them; the full output is in $log"
  fi
  rm -f "$log"
}

# build DIR TARGET… -- CMAKE_OPTION…: configures (Release) and builds, quietly unless it fails.
build() {
  local dir=$1; shift
  local targets=() options=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  options=("$@")
  mkdir -p "$dir"
  local log=$dir/build.log started=$SECONDS
  say "building in ${dir#"$root"/} (the first build takes minutes)"
  if ! cmake -S "$root" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" >"$log" 2>&1; then
    grep -A8 'CMake Error' "$log" >&2 || tail -n 15 "$log" >&2
    die "configuring failed; the full output is in $log"
  fi
  local cuda; cuda=$(sed -n 's/^-- CUDA backend/the CUDA backend/p' "$log")
  [ -z "$cuda" ] || say "$cuda"
  if ! cmake --build "$dir" $([ ${#targets[@]} -eq 0 ] || printf -- '--target %s ' "${targets[@]}") >>"$log" 2>&1; then
    grep -B1 -A12 -E 'FAILED|error:' "$log" | head -n 40 >&2
    die "building failed; the full output is in $log"
  fi
  say "built in $((SECONDS - started)) s"
}

# The compiler that kernels are held against in tests (tests/gpu/kernel_limits.txt), in its parts.
cuda_packages="nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85"
cuda_release=13.0

# The oldest driver for what it makes; CUDA 12's is 525 (NVIDIA, "CUDA Compatibility", minor versions).
cuda_driver=580

# cuda_release_of NVCC: prints it, 13.0; fails where there is none that says it.
cuda_release_of() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p' | grep .; }

# is_cuda_release NVCC: whether it is there and of the release above.
is_cuda_release() { [ "$(cuda_release_of "$1")" = "$cuda_release" ]; }

# is_cuda_from RELEASE NVCC: whether it is there and of that release or a newer one.
is_cuda_from() {
  local release
  release=$(cuda_release_of "$2") && printf '%s\n' "$1" "$release" | sort -VC
}

# find_nvcc: prints the nvcc that a build would take; nothing where there is none.
find_nvcc() { cmake -P "$root/packaging/cmake/which_nvcc.cmake"; }

# Warns if the driver is too old for programs that this release's compiler builds.
check_driver() {
  local driver
  driver=$(timeout 20 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | grep -m1 -E '^[0-9]+\.') || return 0
  [ "${driver%%.*}" -lt "$cuda_driver" ] || return 0
  say "the driver here is $driver, but programs built with CUDA $cuda_release need $cuda_driver or newer. Install a newer driver. Or, with driver 525 or newer, install NVIDIA's CUDA toolkit 12.4 to 12.9 and run: SATCHEL_NVCC=/usr/local/cuda-12.9/bin/nvcc packaging/run.sh"
}

# find_pip: prints the command; fails where there is none.
find_pip() {
  local candidate
  for candidate in pip3 pip "python3 -m pip"; do
    if $candidate --version >/dev/null 2>&1; then printf '%s\n' "$candidate"; return 0; fi
  done
  return 1
}

# get_cuda FOLDER: unpacks the packages there, completely or not at all. They are programs and headers, so any Python will do.
get_cuda() {
  local at=${1%/}
  local nvcc=$at/nvidia/cu13/bin/nvcc pip
  if is_cuda_release "$nvcc"; then say "the compiler is already there: $nvcc"; return 0; fi
  # Other contents belong to somebody.
  if [ -e "$at" ] && [ ! -d "$at/nvidia/cu13" ] && [ -n "$(ls -A "$at" 2>&1)" ]; then
    die "\"$at\" holds other files; name an empty or a new folder"
  fi
  if ! find_pip >/dev/null; then install_missing python3-pip; fi
  pip=$(find_pip) || die "the compiler comes in Python packages, but pip is missing, even with python3-pip installed"
  say "getting CUDA's compiler (downloads about 105 MB)"
  mkdir -p "$(dirname "$at")"
  rm -rf "$at.part"
  $pip install --quiet --disable-pip-version-check --retries 2 --no-deps --target "$at.part" $cuda_packages >"$at.log" 2>&1 </dev/null ||
    die "pip could not get it: $(tail -n 1 "$at.log"). SATCHEL_CUDA=OFF builds and tests without the CUDA backend"
  [ -x "$at.part/nvidia/cu13/bin/nvcc" ] || die "the packages contain no nvcc: see $at.part"
  rm -rf "$at"
  mv "$at.part" "$at"
  say "installed it in $at"
  [ "$at" = "$root/build/cuda" ] || say "build with it: SATCHEL_NVCC=$nvcc packaging/run.sh"
}

# What reads the machine code of kernels (tests/gpu/hot_loops.txt), 6 MB, into build/disassemblers.
disassembler_packages="nvidia-cuda-cuobjdump==13.2.51 nvidia-cuda-nvdisasm==13.2.51"
get_disassemblers() {
  local at=$root/build/disassemblers pip
  [ ! -x "$at/nvidia/cu13/bin/nvdisasm" ] || return 0
  pip=$(find_pip) || return 1
  rm -rf "$at" "$at.part"
  $pip install --quiet --disable-pip-version-check --retries 2 --no-deps --target "$at.part" $disassembler_packages >"$at.log" 2>&1 </dev/null || return 1
  mv "$at.part" "$at"
}

# The clients that the server is asked through.
client_packages="openai==3.57.0 anthropic==2.14.0 langchain-openai==1.7.4"

# Makes build/python: Debian's Python and PyTorch, and packages that Debian lacks: gguf for the trainer's tests, clients for
# the server's.
make_python() {
  local at=$root/build/python
  "$at/bin/python3" -c 'import anthropic, gguf, langchain_openai, openai, torch' 2>/dev/null && return 0
  say "making ${at#"$root"/} (Python with gguf, openai, anthropic, langchain-openai)"
  mkdir -p "$root/build"
  /usr/bin/python3 -m venv --clear --system-site-packages "$at" >/dev/null &&
    "$at/bin/pip" install --quiet --disable-pip-version-check gguf $client_packages >"$root/build/python.log" 2>&1 </dev/null
}
