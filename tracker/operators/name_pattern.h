#pragma once
// Owns: patterns of names, as in "rack1-*". Does not know: whose names.

#include <string_view>

namespace tf::tracker {

// Whether the whole name is like the pattern, in which '*' stands for any characters, none among them.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace tf::tracker
