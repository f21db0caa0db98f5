#pragma once
// Owns: what a line of a source includes, for the tests of the tree. Does not know: which files there are.

#include <string>

// What stands between the brackets or quotes of an #include; empty for any other line.
inline std::string included_by(const std::string& line) {
  const auto word = [&](size_t from) { return line.find_first_not_of(" \t", from); };
  const size_t hash = word(0);
  if (hash == std::string::npos || line[hash] != '#') return "";
  const size_t directive = word(hash + 1);
  if (directive == std::string::npos || line.compare(directive, 7, "include") != 0) return "";
  const size_t open = line.find_first_of("<\"", directive);
  const size_t close = open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}
