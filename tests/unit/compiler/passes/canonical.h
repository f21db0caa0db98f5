#pragma once
// Owns: a function's text as it is printed. Does not know: what is tested with it.

#include <string>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"

namespace tf::passes {

inline std::string canonical(const std::string& text) {
  return ir::to_string(ir::parse_function(text).value());
}

}  // namespace tf::passes
