#!/usr/bin/env bash
# Builds the CUDA backend here, runs everything that wants a card, and leaves one report, in one command under 10 minutes:
# report.md for people, report.json for programs, log.txt with what each step said. Without a card it builds, skips and says so.
#   tests/gpu/run.sh [--built FOLDER | --build FOLDER] [--steps PATTERN,…] [--out FOLDER] [--minutes N]
#     --built    what tests/gpu/pack-built.sh gathered on another machine: nothing is built here
#     --build    where to build; default: build/gpu
#     --steps    only steps whose names match one of these, as the shell matches files: test_*,bench_decode,model_8b
#     --out      where the report goes; default: $OUT, else build/gpu-report
#     --minutes  all of it, at most; default 9.5. A step whose time is up is ended, the report is written whatever happens
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
built="" build=$root/build/gpu steps="*" out=${OUT:-$root/build/gpu-report} minutes=9.5
while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    --build) mkdir -p "$2" && build=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: there is no option $1; run.sh --help lists them" >&2; exit 2 ;;
  esac
done
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
[ -z "$built" ] || build=$built
bin=$build/bin
work=$(mktemp -d) && mkdir "$work/tests"
[ -z "$built" ] || export LD_LIBRARY_PATH=$built/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
deadline=$((SECONDS + $(python3 -c "print(int(60 * $minutes))")))
cores=$(nproc)

finish() {
  python3 "$root/tests/gpu/report.py" "$work" "$out" || echo "run.sh: the report could not be written" >&2
  for log in "$work"/*.log; do [ -e "$log" ] && printf '\n==== %s\n' "$(basename "$log" .log)" && tail -c 20000 "$log"; done >"$out/log.txt"
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' TERM INT

# step NAME SECONDS COMMAND…: what it says goes to NAME.log, how it went to steps.jsonl and, at once, to the terminal.
# 77 is a skip. The last 10 seconds are the report's.
step() {
  local name=$1 limit=$2 began=$SECONDS left=$((deadline - SECONDS - 10)) code state
  is_asked_for "$name" || return
  shift 2
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  if [ "$limit" -lt 3 ]; then
    state="no time" code=-1
  else
    timeout -k 5 "$limit" "$@" >>"$work/$name.log" 2>&1
    code=$?
    case $code in 0) state=passed ;; 77) state=skipped ;; 124 | 137) state="time up" ;; *) state=failed ;; esac
  fi
  printf '{"step": "%s", "state": "%s", "code": %d, "seconds": %d, "limit": %d}\n' \
    "$name" "$state" "$code" $((SECONDS - began)) "$limit" >>"$work/steps.jsonl"
  printf '%-28s %-8s %4d s%s\n' "$name" "$state" $((SECONDS - began)) "$(last_words "$name" "$state")"
  [ "$state" = passed ]
}
is_asked_for() {
  local pattern
  for pattern in ${steps//,/ }; do
    # shellcheck disable=SC2053
    [[ $1 == $pattern ]] && return 0
  done
  return 1
}
# Why a step did not go well: its last line that says something.
last_words() {
  if [ "$2" = passed ] || [ ! -e "$work/$1.log" ]; then return; fi
  grep -v '^\s*$' "$work/$1.log" | tail -1 | sed '/"why"/!s/^{.*//; s/.*"why": *"\(.*\)"}/\1/' | cut -c1-160 | sed 's/^/  /'
}
# is_built NAME PROGRAM: else the step fails, and says so.
is_built() {
  case $2 in "$bin"/*) [ -x "$2" ] || step "$1" 5 bash -c 'echo "${0##*/} was not built"; exit 1' "$2" ;; esac
}
# bench NAME SECONDS COMMAND…: what it prints are results.
bench() {
  local name=$1 limit=$2
  shift 2
  is_built "$name" "$1" || return
  step "$name" "$limit" bash -c 'set -o pipefail; "$@" | tee -a "$0"' "$work/results.jsonl" "$@"
}
# tests NAME SECONDS SHARDS COMMAND…: a GoogleTest program in several processes; each writes what it found.
tests() {
  local name=$1 limit=$2 shards=$3
  shift 3
  is_built "$name" "$1" || return
  step "$name" "$limit" bash -c '
    work=$0 name=$1 shards=$2; shift 2; code=0; all=()
    for ((i = 0; i < shards; ++i)); do
      GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" --gtest_brief=1 --gtest_output="json:$work/tests/$name.$i.json" & all+=($!)
    done
    for each in "${all[@]}"; do wait "$each" || code=1; done
    if [ $code = 0 ] && ! grep -q "\"result\": \"COMPLETED\"" "$work/tests/$name".*.json; then
      grep -h -A1 ": Skipped$" "$work/$name.log" | grep -v ": Skipped$" | tail -1; code=77
    fi
    exit $code' "$work" "$name" "$shards" "$@"
}

export PATH=$PATH:/usr/lib/wsl/lib  # where Windows puts nvidia-smi
has_card=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -cE '^[0-9]+\.[0-9]$')
# For the cards that are here; where none is, one kind is enough to see that it builds.
cards=native
[ "$has_card" -gt 0 ] || cards=90
machine() { python3 "$root/tests/gpu/report.py" --machine "$root" "$1" >"$work/machine.json"; }
machine ""

build_here() {
  local nvcc targets=(test_kernels test_gpu bench_gpu bench_gpu_model)
  step configure 60 cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSATCHEL_STORAGE=OFF -DSATCHEL_DESKTOP=OFF \
    -DSATCHEL_TESTS=ON -DSATCHEL_TESTS_PARTIAL=ON -DSATCHEL_BENCH=ON -DSATCHEL_CUDA=AUTO \
    -DSATCHEL_NVCC="${SATCHEL_NVCC:-}" -DSATCHEL_CUDA_CARDS="$cards"
  nvcc=$(sed -n 's/^-- CUDA backend: nvcc [^ ]* (\(.*\)), cards.*/\1/p' "$work/configure.log")
  if [ -n "$nvcc" ]; then
    machine "$nvcc"
    targets=(satchel_cuda read_bandwidth "${targets[@]}")
  else
    # Where a card waits for it, this is a failure.
    step backend 5 bash -c 'sed -n "s/^-- \(CUDA backend: not built.*\)/\1/p" "$0"; exit "$1"' "$work/configure.log" $((has_card ? 1 : 77))
  fi
  # What can be built is, whatever else fails; a program of before would be taken for this one's.
  rm -f "$build"/bin/* "$build"/lib/satchel/*
  step build 220 cmake --build "$build" -j "$cores" --target "${targets[@]}" -- -k 0
  step build_oracles 100 cmake --build "$build" -j "$cores" --target test_kvcache test_runtime -- -k 0
}
[ -n "$built" ] || build_here

shards=$((cores < 8 ? cores : 8))
tests test_kernels 75 "$shards" "$bin/test_kernels" --gtest_filter='*/cuda'
tests test_gpu 75 "$shards" "$bin/test_gpu"
if [ "$has_card" -gt 0 ]; then
  # What the oracles of caches and models say, with the card in place of the processor.
  SATCHEL_TEST_BACKEND=cuda tests test_kvcache 60 "$shards" "$bin/test_kvcache" \
    --gtest_filter='Recipes/Kept*:MiniKv.*:Snapshot.*:SecondPass.*:Lengths/FullPrompt*/cpu*:Room.*:KvMerger.*'
  SATCHEL_TEST_BACKEND=cuda tests test_models 60 "$shards" "$bin/test_runtime" \
    --gtest_filter='*EveryArchitecture*cpu*:*Oracle*cpu*:*BundledModel*cpu*:*EveryWeightType*:*EveryPreset*continues*'
fi

if [ -x "$bin/read_bandwidth" ]; then bench bandwidth 20 "$bin/read_bandwidth"; fi
bench bench_decode 60 "$bin/bench_gpu" decode
bench bench_prefill 30 "$bin/bench_gpu" prefill
bench bench_cache 25 "$bin/bench_gpu" cache
bench bench_weights 45 "$bin/bench_gpu" weights
bench bench_moe 20 "$bin/bench_gpu" moe
bench torch 45 python3 "$root/tests/gpu/torch_attention.py"
bench model_1b 40 "$bin/bench_gpu_model" 1b
bench model_8b 80 "$bin/bench_gpu_model" 8b
# The first bandwidth may have been the card's own warming up.
if [ -x "$bin/read_bandwidth" ]; then bench bandwidth_again 15 "$bin/read_bandwidth"; fi
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
# Short tests of every kind of kernel: a tool slows them down ten to a hundred times.
looked_at=$(printf '*%s*/cuda:' several_sequences_in_one_call a_sequence_reads_its_lanes a_dead_slot nothing_visible EveryChoice \
  EveryFusion part_by_part scored_apart EverySelect EveryStore EveryRope EveryNorm part_page turned_operand small_large_and_zero \
  EveryKeyWorth EveryBackendsMemory)
for tool in memcheck initcheck racecheck synccheck; do
  if [ "$has_card" = 0 ]; then step "$tool" 5 bash -c 'echo "no card"; exit 77'
  elif [ -z "$sanitizer" ]; then step "$tool" 5 bash -c 'echo "no compute-sanitizer here"; exit 77'
  else step "$tool" 25 "$sanitizer" --tool "$tool" --error-exitcode 9 "$bin/test_kernels" --gtest_brief=1 --gtest_filter="$looked_at"; fi
done

# A card that no test ran on is a failure too.
bad='"state": "(failed|time up|no time)"'
[ "$has_card" = 0 ] || bad+='|"step": "test_gpu", "state": "skipped"'
! grep -qE "$bad" "$work/steps.jsonl"
