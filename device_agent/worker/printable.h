#pragma once
// Owns: making text of a candidate safe to keep and to show: a protobuf string must be UTF-8, and what a
// candidate writes may be anything. Does not know: what the text is for.

#include <string>
#include <utility>

namespace tf::worker {

// Everything but printable ASCII, line ends and tabs becomes '?'.
inline std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x7f || (c < ' ' && c != '\n' && c != '\t')) c = '?';
  }
  return text;
}

// The same, and one line.
inline std::string printable_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return printable(std::move(text));
}

}  // namespace tf::worker
