#!/usr/bin/env bash
# Gets NVIDIA's CUDA compiler out of its Python packages (CUDA 13.0, about 105 MB to fetch) into build/cuda, where the build
# finds it. No card or driver is needed to build; to run, a driver from 580 on is. Does nothing where that compiler, or another
# that a build takes, is there; a folder that is named gets it all the same.
#   packaging/get-cuda.sh [FOLDER]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; -*) die "there is no option \"$1\"" ;; esac
[ $# -le 1 ] || die "one folder is taken, and \"${*:2}\" is more"
check_driver
if [ $# -eq 0 ] && nvcc=$(find_nvcc) && [[ $nvcc != "$root/build/cuda/"* ]] && is_cuda_from 12.4 "$nvcc"; then
  say "nothing to do: packaging/run.sh builds with $nvcc, which is there"
  say "CUDA $cuda_release's all the same: packaging/get-cuda.sh build/cuda"
  exit 0
fi
get_cuda "${1:-$root/build/cuda}"
