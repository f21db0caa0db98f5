#pragma once
// Owns: the C header that stands beside a built model.so.

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/graph/program/program.h"

namespace tf::driver {

// Declares compiler/runtime/model.h's functions as NAME_open and so on, with the model's inputs and outputs
// described and their sizes as macros. The headers of several models can be included together: each has its
// own guard, functions and handle type. A program that includes one of them may also use the plain names
// (tf_model_open, TF_MODEL_INPUT_0_BYTES), which are macros. `identity` tells models of one name apart.
std::string model_header(const graph::Program& program, const std::string& name, uint64_t identity);

// The name of the model that the header belongs to, unchecked; "" if the text is not a model's header.
std::string model_name_in(std::string_view header);

}  // namespace tf::driver
