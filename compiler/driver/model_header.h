#pragma once
// Owns: the C header that stands beside a built model.so.

#include <string>

#include "compiler/graph/program.h"

namespace tf::driver {

// compiler/runtime/model.h, with the model's inputs and outputs described and their sizes as macros.
std::string model_header(const graph::Program& program);

}  // namespace tf::driver
