#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. One Release build; the parts that read strangers' bytes
# run under AddressSanitizer and UBSan as well. Tests that need SmolLM2 or Gemma 3 270M are skipped by name where they can't
# be had.
#   packaging/test.sh [arguments for ctest]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac

install_missing $build_packages $run_packages $test_packages
# Once: a failure here only skips tests.
for model in smollm gemma; do
  "$root/packaging/get-model.sh" "$model" || say "going on without $model; its tests will be skipped by name"
done
make_python || say "going on without the Python package gguf; the trainer's chain test will be skipped by name"
build "$root/build/test" -- -DSATCHEL_TESTS=ON -DSATCHEL_WERROR=ON

say "running the tests"
cd "$root/build/test"
exec ctest --output-on-failure --no-tests=error -j "$(nproc)" "$@"
