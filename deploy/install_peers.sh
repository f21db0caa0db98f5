#!/usr/bin/env bash
# Installs ONNX Runtime for node.js into build/peers: the oracle of tests/integration/onnxruntime and the speed to
# beat of tests/bench/peers. Needs npm and the network, once; safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

package=onnxruntime-node@1.30.0
folder=build/peers
if [ -f "$folder/node_modules/onnxruntime-node/package.json" ]; then
  echo "peers: $package is installed"
  exit 0
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
