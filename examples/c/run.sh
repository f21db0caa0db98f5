#!/usr/bin/env bash
# Builds a small network and a C program that runs it.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

tunefarm compiler zoo mlp -o mlp.onnx
tunefarm compiler build mlp.onnx -o mlp
cc -Wall -Wextra "$example/main.c" -I mlp -L mlp -lmlp -Wl,-rpath,"$PWD/mlp" -o app
./app
