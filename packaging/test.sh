#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. One Release build; the parts that read strangers' bytes
# run under AddressSanitizer and UBSan as well. Tests that need SmolLM2 or Gemma 3 270M are skipped by name where they can't
# be had. The CUDA backend is built with nvcc 13.0, which needs no card, for the oldest cards, Hopper and the newest (all six
# take twice as long); SATCHEL_CUDA=OFF leaves it out.
#   packaging/test.sh [arguments for ctest]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac

install_missing $build_packages $run_packages $test_packages
# Once: a failure here only skips tests.
for model in smollm gemma; do
  "$root/packaging/get-model.sh" "$model" || say "going on without $model; its tests will be skipped by name"
done
make_python || say "going on without the Python package gguf; the trainer's chain test will be skipped by name"
# One release of the compiler, so that every run sees the same warnings and the same registers. Where it cannot be had this
# fails: a run without it would say that kernels are sound which nobody compiled.
cuda=(-DSATCHEL_CUDA=OFF)
if [ "${SATCHEL_CUDA:-ON}" = OFF ]; then say "leaving the CUDA backend out, as asked"
else
  nvcc=$(find_nvcc)
  if ! is_cuda_release "$nvcc"; then
    [ -z "$nvcc" ] || say "tests take CUDA $cuda_release's compiler, and $nvcc is not it"
    get_cuda "$root/build/cuda"
    nvcc=$root/build/cuda/nvidia/cu13/bin/nvcc
  fi
  cuda=(-DSATCHEL_CUDA=ON -DSATCHEL_NVCC="$nvcc" "-DSATCHEL_CUDA_CARDS=75;90;120")
fi
build "$root/build/test" -- -DSATCHEL_TESTS=ON -DSATCHEL_WERROR=ON "${cuda[@]}"

say "running the tests"
cd "$root/build/test"
exec ctest --output-on-failure --no-tests=error -j "$(nproc)" "$@"
