#!/usr/bin/env bash
# Gathers what was built here for a machine that has a GPU but lacks packages, a compiler or the time to use it: the programs of
# tests/gpu, stripped, with the libraries that they open. About 40 MB. That machine needs the same processor family (x86-64), a
# C library that is not older, and a driver.
#   cmake -S . -B BUILD … -DSATCHEL_CUDA=ON -DSATCHEL_CUDA_CARDS=90 -DSATCHEL_BENCH=ON, then build; then
#   tests/gpu/pack-built.sh BUILD FOLDER     and there: tests/gpu/run.sh --built FOLDER
set -euo pipefail

case "${1:-}" in "" | -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
build=$1 to=$2
programs=(test_kernels test_gpu test_kvcache test_runtime bench_gpu bench_gpu_model read_bandwidth satchel)

mkdir -p "$to"/{bin,lib/satchel}
for program in "${programs[@]}"; do
  rm -f "$to/bin/$program"  # one of before would be taken for this one's
  if [ -x "$build/bin/$program" ]; then strip -o "$to/bin/$program" "$build/bin/$program"
  else echo "pack-built: $program was not built; its steps will fail" >&2; fi
done
strip -o "$to/lib/satchel/libsatchel-cuda.so" "$build/lib/satchel/libsatchel-cuda.so"
# Not the C library and its loader: those of the other machine belong to its driver.
ldd "$to"/bin/* | awk '$3 ~ /^\// { print $3 }' | sort -u | grep -vE '/(libc|libm|ld-linux[^/]*|libpthread|libdl|librt)\.so' |
  while read -r library; do cp -L "$library" "$to/lib/"; done
du -sh "$to" | sed 's/\t/ in /; s/^/pack-built: /'
