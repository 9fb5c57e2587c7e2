#!/usr/bin/env bash
# Installs missing packages, builds everything and runs all tests. One Release build; code that reads untrusted bytes also
# runs under AddressSanitizer and UBSan. Tests that need SmolLM2 or Gemma 3 270M are skipped by name if the model cannot be
# downloaded. nvcc 13.0 builds the CUDA backend, without a GPU, for the oldest and the newest kind; all six kinds take three
# times as long. SATCHEL_CUDA=OFF leaves it out.
#   packaging/test.sh [arguments for ctest]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac

install_missing $build_packages $run_packages $test_packages
# Once: a failure here only skips tests.
for model in smollm gemma; do
  "$root/packaging/get-model.sh" "$model" || say "continuing without $model; its tests will be skipped by name"
done
make_python || say "continuing without the Python packages gguf, openai, anthropic and langchain-openai; the trainer's chain test and the official clients' will be skipped by name"
# One release of the compiler, so that every run sees the same warnings and the same registers. Where it cannot be had this
# fails: a run without it would say that kernels are sound which nobody compiled.
cuda=(-DSATCHEL_CUDA=OFF)
if [ "${SATCHEL_CUDA:-ON}" = OFF ]; then say "leaving out the CUDA backend, as asked"
else
  nvcc=$(find_nvcc)
  if ! is_cuda_release "$nvcc"; then
    [ -z "$nvcc" ] || say "the tests need CUDA $cuda_release's compiler, but found $nvcc"
    get_cuda "$root/build/cuda"
    nvcc=$root/build/cuda/nvidia/cu13/bin/nvcc
  fi
  get_disassemblers || say "continuing without the Python packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm; the test of kernels' hot loops is left out"
  cuda=(-DSATCHEL_CUDA=ON -DSATCHEL_NVCC="$nvcc" "-DSATCHEL_CUDA_CARDS=75;120")
fi
build "$root/build/test" -- -DSATCHEL_TESTS=ON -DSATCHEL_WERROR=ON "${cuda[@]}"

say "running the tests"
cd "$root/build/test"
result=0
ctest --output-on-failure --no-tests=error -j "$(nproc)" "$@" || result=$?
# ctest names suites that were skipped as a whole. Why tests were skipped, and how many; their names stand in the log.
skipped=$(grep -a -A1 ': Skipped$' Testing/Temporary/LastTest.log | grep -avE ': Skipped$|^--$' | sort | uniq -c) || skipped=""
[ -z "$skipped" ] || say "skipped tests (build/test/Testing/Temporary/LastTest.log has their names):"$'\n'"$skipped"
exit "$result"
