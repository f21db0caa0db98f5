#include "compiler/onnx/printable.h"

namespace tf::onnx {

std::string printable(std::string_view text) {
  std::string safe;
  for (char c : text.substr(0, 200)) safe += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return safe;
}

}  // namespace tf::onnx
