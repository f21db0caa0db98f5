#!/usr/bin/env bash
# Builds and tests in several configurations, one after the other, and prints a table at the end.
#   tests/run_matrix.sh [--configure-only] [CONFIGURATION…]
# CONFIGURATION: release, asan, tsan, clang, aarch64 [all of them]. asan and tsan are built with sanitizers; clang is the release
# build by clang; aarch64 is the agent for boards, tested under an emulator. Environment:
#   TF_MATRIX_CTEST   arguments for ctest, as in '-L unit -j 4'  [-LE 'bench|cuda|opencl' -j, as many as CPUs]
#   TF_MATRIX_JOBS    compilers that run at once [as many as CPUs]
# Logs are build/matrix/CONFIGURATION.log. A configuration that fails does not stop the others. Exit code 1 if one failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=(release asan tsan clang aarch64)
only_configure=
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --configure-only) only_configure=1 ;;
    release | asan | tsan | clang | aarch64) chosen+=("$1") ;;
    *) echo "run_matrix.sh: there is no configuration '$1': ${all[*]}" >&2; exit 2 ;;
  esac
  shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${all[@]}")
jobs=${TF_MATRIX_JOBS:-$(nproc)}
read -r -a ctest_arguments <<<"${TF_MATRIX_CTEST:--LE bench|cuda|opencl -j $jobs}"
mkdir -p build/matrix

configure() {
  case $1 in
    aarch64) deploy/install_packages.sh --boards aarch64 || return ;;
    clang) deploy/install_packages.sh --fuzz || return ;;
  esac
  cmake --preset "$1"
}
build() { cmake --build --preset "$1" -j "$jobs"; }
run_tests() {
  # The agent for boards has no tests of its own: the release build's run it under the emulator.
  if [ "$1" = aarch64 ]; then
    cmake --preset release && cmake --build build/release -j "$jobs" --target cross_agent_test tracker build_worker &&
      ctest --test-dir build/release --output-on-failure --timeout 300 -R 'ForeignAgent.*/aarch64$'
  else
    ctest --test-dir "build/$1" --output-on-failure --timeout 300 "${ctest_arguments[@]}"
  fi
}

# check CONFIGURATION STEP…: runs the steps until one fails; the state goes into `state`.
declare -A state seconds tests
for configuration in "${chosen[@]}"; do
  log=build/matrix/$configuration.log
  : >"$log"
  steps=(configure build run_tests)
  [ -z "$only_configure" ] || steps=(configure)
  began=$SECONDS
  state[$configuration]=ok
  for step in "${steps[@]}"; do
    echo "== $configuration: $step" | tee -a "$log" >&2
    if ! "$step" "$configuration" >>"$log" 2>&1; then
      state[$configuration]="FAILED: $step"
      break
    fi
  done
  seconds[$configuration]=$((SECONDS - began))
  tests[$configuration]=$(sed -n 's/^\([0-9]*% tests passed.*\)$/\1/p' "$log" | tail -n 1)
done

printf '\n%-13s %-18s %8s  %s\n' configuration state minutes tests
failed=0
for configuration in "${chosen[@]}"; do
  printf '%-13s %-18s %5d:%02d  %s\n' "$configuration" "${state[$configuration]}" $((seconds[$configuration] / 60)) \
    $((seconds[$configuration] % 60)) "${tests[$configuration]:--}"
  [ "${state[$configuration]}" = ok ] || failed=1
done
[ $failed = 0 ] || echo "logs: build/matrix/*.log" >&2
exit $failed
