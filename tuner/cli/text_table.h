#pragma once
// Owns: tables for people, whose columns are as wide as the widest of what stands in them. Pure. Does not
// know: what that is.

#include <string>
#include <string_view>
#include <vector>

namespace tf::tuner_cli {

// A line a row, without what ends it; rows have as many cells. A letter of `sides` a column: 'l' or 'r', the
// side that its cells keep to. Nothing follows what a line ends with.
std::vector<std::string> text_table(const std::vector<std::vector<std::string>>& rows,
                                    std::string_view sides);

}  // namespace tf::tuner_cli
