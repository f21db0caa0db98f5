#pragma once
// Owns: text that others wrote (files, databases, candidates) as a terminal may show it and a protobuf string
// may hold it. Does not know: where it comes from.

#include <cstddef>
#include <string>
#include <string_view>

namespace tf {

// One line of UTF-8 that no terminal obeys: a '?' for each control character (U+0080 to U+009F are some,
// too), each that ends a line or turns its direction (U+2028 to U+202E, U+2066 to U+2069) and each byte that
// is no UTF-8, and cut at a character where it gets too long for a line.
std::string printable(std::string_view text, size_t most_bytes = 200);

// The whole text, whose line ends and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace tf
