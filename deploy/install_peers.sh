#!/usr/bin/env bash
# Installs ONNX Runtime for node.js into build/peers: the oracle of tests/integration/onnxruntime and the speed to
# beat of tests/bench/peers. Needs npm and the network, once; safe to run again.
# With --libraries also OpenBLAS, BLIS and oneDNN from Debian, which that bench compares kernels with, and gnuplot,
# which draws what tests/bench/search measures (as root or with sudo, once). With --torchvision also Debian's PyTorch and
# torchvision, whose networks tests/integration/torchvision exports.
set -euo pipefail
cd "$(dirname "$0")/.."

install_packages() { # NAME PACKAGE…
  local missing=() sudo=() package names=$1
  shift
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "peers: $names are installed"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install_peers.sh: run as root to install: ${missing[*]}" >&2; exit 1; }
    sudo=(sudo)
  fi
  echo "peers: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null
}

install_onnxruntime() {
  local package=onnxruntime-node@1.30.0 folder=build/peers
  if [ -f "$folder/node_modules/onnxruntime-node/package.json" ]; then
    echo "peers: $package is installed"
    return
  fi
  if ! command -v npm >/dev/null; then
    echo "install_peers.sh: needs npm (Debian: apt-get install nodejs npm) for $package" >&2
    exit 1
  fi
  echo "peers: installing $package into $folder"
  rm -rf "$folder.new"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder.new" "$package" >/dev/null
  rm -rf "$folder"
  mv "$folder.new" "$folder" # as one step: an interrupted install leaves nothing half done
}

case "${1-}" in
  '') ;;
  --libraries)
    install_packages "OpenBLAS, BLIS, oneDNN and gnuplot" libopenblas0-pthread libblis4-pthread libdnnl-dev gnuplot-nox
    ;;
  --torchvision)
    install_packages "PyTorch and torchvision" python3-torch python3-torchvision python3-onnx libopenblas0-pthread
    ;;
  *) echo "usage: $0 [--libraries | --torchvision]" >&2 && exit 2 ;;
esac
install_onnxruntime
