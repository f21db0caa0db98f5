#!/usr/bin/env bash
# Builds the CMake project in a copy of this folder, with a network for it, and runs the program.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

cp "$example/CMakeLists.txt" "$example/classify.cpp" .
tunefarm compiler zoo mlp -o digits.onnx
cmake -S . -B build -Dtunefarm_DIR="$tunefarm_cmake/tunefarm"
cmake --build build
build/classify
