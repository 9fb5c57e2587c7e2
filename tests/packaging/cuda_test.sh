#!/usr/bin/env bash
# What the build and the scripts say of compilers, cards and drivers, with programs that stand in for nvcc, nvidia-smi and pip.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset SATCHEL_NVCC CUDACXX
failed=0

# program FILE: what it does comes on standard input.
program() { mkdir -p "$(dirname "$1")"; { echo '#!/bin/bash'; cat; } >"$1"; chmod +x "$1"; }
# toolkit FOLDER VERSION CARDS COMPILING: a compiler of that release, which does that when it compiles.
toolkit() {
  mkdir -p "$1/include" "$1/lib"
  touch "$1/include/cuda_runtime.h" "$1/lib/libcudart_static.a"
  program "$1/bin/nvcc" <<END
case " \$* " in
  *" --version "*) echo "Cuda compilation tools, release ${2%.*}, V$2" ;;
  *" --list-gpu-code "*) printf 'sm_%s\n' $3 ;;
  *) $4 ;;
esac
END
}
# gpu FOLDER ANSWER: an nvidia-smi that answers this, whatever it is asked.
gpu() { program "$1/nvidia-smi" <<<"printf '%s\n' '$2'"; }

# find_cuda OPTION…: a configuration's search, in an empty folder.
find_cuda() { (mkdir -p "$scratch/at" && cd "$scratch/at" && rm -f -- * && cmake -DCMAKE_CXX_COMPILER=g++ "$@" -P "$root/tests/packaging/find_cuda.cmake" 2>&1); }
# says NAME PATTERN CODE COMMAND…: what it prints matches, on one line or several, and its exit code is this.
says() {
  local name=$1 pattern=$2 code=$3 got=0 said
  shift 3
  said=$("$@" 2>&1 | tr '\n' ' ' | tr -s ' '; exit "${PIPESTATUS[0]}") || got=$?
  if ! grep -qE -- "$pattern" <<<"$said" || [ "$got" != "$code" ]; then
    printf '%s: expected %s and exit code %s, got %s and: %s\n' "$name" "$pattern" "$code" "$got" "$said"
    failed=1
  fi
}

toolkit "$scratch/good" 13.0.88 "75 80 86 89 90 100 120" true
toolkit "$scratch/older" 12.4.131 "50 75 80 86 89 90 90a" true
toolkit "$scratch/oldest" 11.8.89 "75 80" true
toolkit "$scratch/newer" 15.0.10 "80 86 89 90 90a 100 120 130" true
toolkit "$scratch/newest" 20.0.10 "150 160" true
toolkit "$scratch/silent" 13.0.88 "" true
toolkit "$scratch/refuses" 12.4.131 "75 90" 'echo "host_config.h:143:2: #error -- unsupported GNU version! gcc versions later than 13 are not supported!" >&2; exit 1'
good=(-DSATCHEL_NVCC="$scratch/good/bin/nvcc")

says a_compiler_that_refuses_ours_is_left_out "not built, .*/refuses/bin/nvcc \(12.4.131\) does not compile with g\+\+.*unsupported GNU version" 0 \
  find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/refuses/bin/nvcc"
says unless_it_was_demanded "CMake Error.*SATCHEL_CUDA=ON: .*unsupported GNU version" 1 \
  find_cuda -DSATCHEL_CUDA=ON -DSATCHEL_NVCC="$scratch/refuses/bin/nvcc"
says a_release_too_old "not built, .* is 11.8.89, and 12.4 is needed" 0 find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/oldest/bin/nvcc"
says a_compiler_that_names_no_cards "not built, .*/silent/bin/nvcc \(13.0.88\) names no card from 75 on" 0 find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/silent/bin/nvcc"
says a_compiler_named_and_missing "not built, /no/nvcc is not there" 0 find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC=/no/nvcc

says every_card "cards 75, 80, 86, 89, 90, 120, PTX 90, 120; .*code=compute_90;-gencode;arch=compute_120,code=compute_120 $" 0 find_cuda "${good[@]}" -DSATCHEL_CUDA=ON
says what_an_older_compiler_lacks_takes_its_newest_ptx "cards 75, 80, 86, 89, 90, PTX 90; .*code=compute_90 $" 0 \
  find_cuda -DSATCHEL_CUDA=ON -DSATCHEL_NVCC="$scratch/older/bin/nvcc"
says what_a_newer_compiler_dropped_is_left_out "cards 80, 86, 89, 90, 120, PTX 90, 120;" 0 find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/newer/bin/nvcc"
says where_it_dropped_all_its_oldest "cards 150, PTX 150;" 0 find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/newest/bin/nvcc"
says unless_a_card_was_written "CMake Error.*knows no card \"75\".*It knows 80, 86" 1 \
  find_cuda -DSATCHEL_CUDA=AUTO -DSATCHEL_NVCC="$scratch/newer/bin/nvcc" "-DSATCHEL_CUDA_CARDS=75;90"
says newer_than_the_compiler_too "CMake Error.*nvcc 12.4.131 knows no card \"120\"" 1 \
  find_cuda -DSATCHEL_CUDA=ON -DSATCHEL_NVCC="$scratch/older/bin/nvcc" "-DSATCHEL_CUDA_CARDS=90;120"
for wrong in 91 sm_90 9.0 70 "75;all"; do
  says "no_card_$wrong" "SATCHEL_CUDA_CARDS: nvcc 13.0.88 knows no card \"${wrong#75;}\".*It knows 75, 80" 1 find_cuda "${good[@]}" -DSATCHEL_CUDA=ON "-DSATCHEL_CUDA_CARDS=$wrong"
done

native() { gpu "$scratch/gpu" "$1"; shift; PATH=$scratch/gpu:$PATH find_cuda -DSATCHEL_CUDA=ON -DSATCHEL_CUDA_CARDS=native "$@"; }
says the_card_that_is_here "cards 89 \(here: NVIDIA GeForce RTX 4090\), PTX 89; -gencode;arch=compute_89,code=sm_89;-gencode;arch=compute_89,code=compute_89 $" 0 native "8.9, NVIDIA GeForce RTX 4090" "${good[@]}"
says two_kinds_and_one_too_old "cards 75, 90 \(here: H100, T4; nothing for GTX 1080\), PTX 90;" 0 native $'9.0, H100\n6.1, GTX 1080\n7.5, T4\n9.0, H100' "${good[@]}"
says a_card_newer_than_the_compiler "cards 90 \(here: B200\), PTX 90;" 0 native "10.0, B200" -DSATCHEL_NVCC="$scratch/older/bin/nvcc"
says a_card_older_than_the_compiler_takes_no_other_ones "cards 90 \(here: H100; nothing for T4\), PTX 90;" 0 native $'9.0, H100\n7.5, T4' -DSATCHEL_NVCC="$scratch/newer/bin/nvcc" -Dtaken=86
says where_it_is_alone_that_is_said "cards 80, .*\(all, as nvcc 15.0.10 makes nothing from 75 on for what is here: T4\), PTX 90, 120;" 0 native "7.5, T4" -DSATCHEL_NVCC="$scratch/newer/bin/nvcc" -Dtaken=86
says without_a_card_nothing_is_built_unless_it_is_demanded "not built, nvidia-smi names no card here; SATCHEL_CUDA=ON builds it all the same" 0 \
  native "NVIDIA-SMI has failed" "${good[@]}" -DSATCHEL_CUDA=AUTO
says or_cards_were_written "cards 75, 90, PTX 90;" 0 native "NVIDIA-SMI has failed" "${good[@]}" -DSATCHEL_CUDA=AUTO "-DSATCHEL_CUDA_CARDS=75;90"
says a_card_is_enough "cards 90 \(here: H100\), PTX 90;" 0 native "9.0, H100" "${good[@]}" -DSATCHEL_CUDA=AUTO
says a_driver_that_does_not_answer "cards 75, 80, .*\(all, as nvidia-smi names none\)" 0 native 'Field "compute_cap" is not a valid field to query.' "${good[@]}"

which_nvcc() { env "$@" cmake -P "$root/packaging/cmake/which_nvcc.cmake"; }
says the_scripts_find_what_the_build_finds "^$scratch/older/bin/nvcc " 0 which_nvcc SATCHEL_NVCC="$scratch/older/bin/nvcc" CUDACXX="$scratch/good/bin/nvcc"
says a_name_alone_is_looked_up "^$scratch/good/bin/nvcc " 0 which_nvcc CUDACXX=nvcc PATH="$scratch/good/bin:$PATH"

# pip that fetches nothing, so that the script ends there.
program "$scratch/gpu/pip3" <<<'[ "$1" = --version ] || { echo "no network" >&2; exit 1; }'
get_cuda() { gpu "$scratch/gpu" "$1"; PATH=$scratch/gpu:$PATH "$root/packaging/get-cuda.sh" "$scratch/cuda"; }
says an_nvcc_that_will_do_is_left_alone "nothing to do: .*$scratch/older/bin/nvcc" 0 env SATCHEL_NVCC="$scratch/older/bin/nvcc" "$root/packaging/get-cuda.sh"
for nvcc in "$scratch/oldest/bin/nvcc" /no/nvcc; do
  says one_that_will_not_is_not "^ ?$" 1 bash -c "source $root/packaging/common.sh; is_cuda_from 12.4 $nvcc"
done
says a_driver_too_old_is_said_first "^satchel: the driver here is 550.54.14, .* 580 or newer.*SATCHEL_NVCC=.*satchel: getting CUDA's compiler.*no network" 1 get_cuda 550.54.14
says a_driver_that_will_do "^satchel: getting CUDA's compiler" 1 get_cuda 580.65.06

# A machine without pip, and an apt-get that brings it.
tools=$scratch/tools
mkdir "$tools"
for each in bash cat chmod dirname env grep id ls mkdir mktemp rm sed tail timeout; do ln -s "$(command -v $each)" "$tools/$each"; done
program "$tools/dpkg-query" <<<'exit 1'
program "$tools/sudo" <<<'exec "$@"'
program "$tools/apt-get" <<END
case "\$*" in *"install"*python3-pip*) cat "$scratch/gpu/pip3" >"$tools/pip3"; chmod +x "$tools/pip3" ;; esac
END
says pip_is_installed_where_it_is_missing "^satchel: installing python3-pip satchel: getting CUDA's compiler.*no network" 1 \
  env PATH="$tools" "$root/packaging/get-cuda.sh" "$scratch/cuda"

# run.sh in a copy, with a cmake that says what it was told, configures the project itself, without what Debian packages bring,
# and builds nothing. A library lies there as if built before.
mkdir "$scratch/copy"
cp -r "$root/packaging" "$scratch/copy"
program "$scratch/stand_in/dpkg-query" <<<'echo install ok installed'
program "$scratch/stand_in/cmake" <<END
[ "\$1" = -S ] || exit 0
echo "-- CUDA backend: told \$*"
exec "$(command -v cmake)" -S "$root" "\${@:3}" -DSATCHEL_STORAGE=OFF -DSATCHEL_DESKTOP=OFF
END
built=$scratch/copy/build/release/lib/satchel
run() {
  mkdir -p "$built" && touch "$built/libsatchel-cuda.so"
  env LC_ALL=C "$@" PATH="$scratch/stand_in:$PATH" "$scratch/copy/packaging/run.sh" --no-model --demo
  local code=$?
  [ -z "$(ls "$built")" ] || echo "a library of an earlier build was left"
  return "$code"
}
gpu "$scratch/stand_in" "9.0, H100"
says run_builds_for_the_card_that_is_here "told .*-DSATCHEL_CUDA=AUTO -DSATCHEL_CUDA_CARDS=native .*not built, /no/nvcc is not there.*get-cuda.sh gets a compiler .*No such file or directory $" 127 \
  run SATCHEL_NVCC=/no/nvcc
gpu "$scratch/stand_in" ""
says and_nothing_where_there_is_none "not built, nvidia-smi names no card here; [^;]* the same satchel: built in [0-9]+ s [^ ]*run.sh: .*No such file or directory $" 127 run SATCHEL_NVCC=/no/nvcc
says unless_it_is_told "told .*-DSATCHEL_CUDA=OFF -DSATCHEL_CUDA_CARDS=75;90 the CUDA backend: not built, SATCHEL_CUDA=OFF satchel: built in [0-9]+ s [^ ]*run.sh: .*No such file or directory $" 127 \
  run SATCHEL_CUDA=OFF "SATCHEL_CUDA_CARDS=75;90"
exit $failed
