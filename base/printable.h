#pragma once
// Owns: text from files and databases as a terminal may show it. Does not know: where it comes from.

#include <string>
#include <string_view>

namespace tf {

// One line that no terminal obeys: a '?' for each control character (UTF-8's C1 included), and cut where it
// gets too long for a line.
std::string printable(std::string_view text);

// The whole text, whose line ends and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace tf
