#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test that needs no hardware.
#   deploy/test.sh [PRESET] [CTEST-ARGUMENTS…]      PRESET: release (default), dev, asan, tsan
# Can be run again: what is done is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  -h | --help)
    sed -n '2,4s/^# *//p' "$0"
    exit 0
    ;;
  release | dev | asan | tsan | -* | '') ;;
  *)
    echo "test.sh: there is no preset '$1': release, dev, asan or tsan; ctest's arguments start with -" >&2
    exit 2
    ;;
esac
preset=release
if [[ ${1:-} =~ ^(release|dev|asan|tsan)$ ]]; then
  preset=$1
  shift
fi

deploy/install_packages.sh
deploy/install_packages.sh --page-tests || echo "test.sh: continuing without Chromium; the tests that need it are skipped" >&2
deploy/install_packages.sh --cross || echo "test.sh: continuing without qemu; the tests that need it are skipped" >&2
# What a board runs, for the tests that run it under qemu. It is not sanitized.
if deploy/install_packages.sh --boards aarch64; then
  cmake --preset aarch64
  cmake --build --preset aarch64
else
  echo "test.sh: continuing without the agent for aarch64; the tests that need it are skipped" >&2
fi
deploy/install_peers.sh || echo "test.sh: continuing without ONNX Runtime; the tests that need it are skipped" >&2
deploy/build_page.sh --check || echo "test.sh: continuing without the dashboard; the tests that need it are skipped" >&2
cmake --preset "$preset"  # each time: tools that were installed since are found
cmake --build --preset "$preset"
# ctest counts most tests as two (cmake/modules.cmake). Tests wait for half of their time: twice as many run at once as there
# are CPUs, but where a sanitizer makes them compute.
jobs=$((2 * $(nproc)))
case $preset in release | dev) jobs=$((2 * jobs)) ;; esac
ctest --test-dir "build/$preset" --output-on-failure --timeout 300 -j "$jobs" -LE 'bench|cuda|opencl' "$@"
