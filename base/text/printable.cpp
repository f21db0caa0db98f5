#include "base/text/printable.h"

#include <cstdint>

namespace tf {
namespace {

struct Character {
  size_t bytes = 1;
  uint32_t code = 0;  // 0 also for a byte that begins no character
};

// The first character of a text that is not empty (RFC 3629, section 3).
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  if (lead < 0xc0 || lead >= 0xf8) return {};
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000}, kMost = 0x10ffff;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  uint32_t code = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (byte(i) >> 6 != 2) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || code > kMost || surrogate ? Character{} : Character{bytes, code};
}

// What a terminal obeys: control characters, and those that end a line or turn it around (UAX #9, section 2).
bool is_obeyed(uint32_t code) {
  return code < ' ' || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string without_controls(std::string_view text, std::string_view but, size_t most_bytes) {
  std::string safe;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (safe.size() + c.bytes > most_bytes) break;
    const bool kept = !is_obeyed(c.code) || but.find(text[0]) != std::string_view::npos;
    safe += kept ? text.substr(0, c.bytes) : "?";
    text.remove_prefix(c.bytes);
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text, size_t most_bytes) {
  return without_controls(text, "", most_bytes);
}

std::string printable_lines(std::string_view text) {
  return without_controls(text, "\n\t", std::string_view::npos);
}

}  // namespace tf
