#!/usr/bin/env bash
# Builds a small network as a static archive, and a CMake project that finds it in its folder.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

cp "$example/CMakeLists.txt" "$example/scores.c" .
tunefarm compiler zoo mlp -o mlp.onnx
tunefarm compiler build mlp.onnx --static -o mlp
cmake -S . -B build -Dmlp_DIR="$PWD/mlp"
cmake --build build
rm mlp/model.so # the program has all of it
build/scores
