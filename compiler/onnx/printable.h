#pragma once
// Owns: names from files as they may stand in a message.

#include <string>
#include <string_view>

namespace tf::onnx {

// Without control characters, and cut where it gets too long for a line.
std::string printable(std::string_view text);

}  // namespace tf::onnx
