#include "base/printable.h"

namespace tf {
namespace {

std::string without_controls(std::string_view text, std::string_view but) {
  std::string safe;
  unsigned char before = 0;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool c1 = before == 0xc2 && byte >= 0x80 && byte < 0xa0;  // U+0080 to U+009F
    if (c1) safe.back() = '?';
    const bool control = c1 || byte < ' ' || byte == 0x7f;
    safe += control && but.find(c) == std::string_view::npos ? '?' : c;
    before = byte;
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) {
  return without_controls(text.substr(0, 200), "");
}

std::string printable_lines(std::string_view text) {
  return without_controls(text, "\n\t");
}

}  // namespace tf
