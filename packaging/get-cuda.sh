#!/usr/bin/env bash
# Gets NVIDIA's CUDA compiler from its Python packages (CUDA 13.0, downloads about 105 MB) into build/cuda, where the build
# finds it. Building needs no GPU and no driver; running needs driver 580 or newer. Does nothing if a usable compiler is
# already there, unless you name a FOLDER.
#   packaging/get-cuda.sh [FOLDER]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; -*) die "unknown option \"$1\"" ;; esac
[ $# -le 1 ] || die "name one folder only, without \"${*:2}\""
check_driver
if [ $# -eq 0 ] && nvcc=$(find_nvcc) && [[ $nvcc != "$root/build/cuda/"* ]] && is_cuda_from 12.4 "$nvcc"; then
  say "nothing to do: packaging/run.sh builds with $nvcc"
  say "to get CUDA $cuda_release's compiler anyway: packaging/get-cuda.sh build/cuda"
  exit 0
fi
get_cuda "${1:-$root/build/cuda}"
