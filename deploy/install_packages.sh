#!/usr/bin/env bash
# Installs what Tunefarm builds and runs with, from Debian 12's own packages. Safe to run again: it installs only what is
# missing, and needs root only then. Options may stand together.
#   --cross            also what runs code for aarch64 and armv7 here: a cross compiler each and qemu (400 MB), for models built
#                      for such devices and for the tests of such code
#   --fuzz             also clang with libFuzzer, for the fuzz targets (400 MB)
#   --page-tests       also Chromium, in which the dashboard is tested (400 MB)
#   --boards [ARCH…]   also what builds the agent for boards, aarch64 and armv7 unless named: a cross compiler each, qemu, and
#                      Debian's libraries for that processor (160 MB, below build/)
set -euo pipefail

packages=(
  # tools
  build-essential cmake ninja-build pkg-config ccache mold git python3 curl clang-format clang-tidy
  # code generation
  llvm-19-dev liblld-19-dev lld-19 libzstd-dev zlib1g-dev
  # farm
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libssl-dev libseccomp-dev prometheus-cpp-dev
  # search, storage, models
  libxgboost-dev libsqlite3-dev libcurl4-openssl-dev libonnx-dev libonnx-testdata
  # vocabulary
  libabsl-dev libboost1.81-dev nlohmann-json3-dev libcli11-dev libspdlog-dev
  # the Python module
  python3-dev python3-numpy pybind11-dev
  # tests
  libgtest-dev libgmock-dev libbenchmark-dev sqlite3 python3-pip python3-setuptools python3-venv python3-wheel
  pocl-opencl-icd ocl-icd-libopencl1
)
# For the dashboard and for ONNX Runtime, the oracle of tests; a newer node.js than Debian's will do as well.
command -v npm >/dev/null || packages+=(nodejs npm)
usage="usage: $0 [--cross] [--fuzz] [--page-tests] [--boards [aarch64] [armv7]]"
refuse() {
  echo "install_packages.sh: $1; $usage" >&2
  exit 2
}
boards=()
while [ $# -gt 0 ]; do
  case $1 in
    --cross) packages+=(g++-aarch64-linux-gnu g++-arm-linux-gnueabihf qemu-user) ;;
    --page-tests) packages+=(chromium) ;;
    --fuzz) packages+=(clang-19 libclang-rt-19-dev) ;;
    --boards)
      packages+=(qemu-user)
      named=()
      while [ $# -gt 1 ] && [[ $2 != -* ]]; do
        named+=("$2")
        shift
      done
      [ ${#named[@]} -gt 0 ] || named=(aarch64 armv7)
      for board in "${named[@]}"; do
        case $board in
          aarch64) packages+=(g++-aarch64-linux-gnu) ;;
          armv7) packages+=(g++-arm-linux-gnueabihf) ;;
          *) refuse "there is no board '$board'" ;;
        esac
      done
      boards+=("${named[@]}") ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
    *) refuse "there is no option '$1'" ;;
  esac
  shift
done

# A board's libraries are unpacked beside this system's, not installed into it.
fetch_libraries() {
  local board
  for board in "${boards[@]}"; do "$(dirname "$0")/boards/sysroot.sh" "$board"; done
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#packages[@]} are installed"
  fetch_libraries
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "install_packages.sh: this system has no apt-get; install the equivalents of these Debian 12 packages: ${missing[*]}" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install_packages.sh: run as root to install: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "packages: installing ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fetch_libraries
