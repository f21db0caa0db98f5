#!/bin/sh
# Writes the generated reference pages again: docs/update.sh [BUILD_FOLDER, build/release if not given]
set -eu
cd "$(dirname "$0")/.."
python3 docs/generate/reference.py --bin "${1:-build/release}/bin"
