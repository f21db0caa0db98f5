#pragma once
// Owns: tables for people: a line each under a heading, with columns as wide as they need to be, and
// narrower ones where shorter free texts make it fit a terminal. Does not know: what stands in them.

#include <cstddef>
#include <string>
#include <vector>

namespace tf::tracker {

// What becomes of a column's cells in a table that is too wide.
enum class Cells { kWhole, kShortened };

struct TableColumn {
  std::string heading;
  Cells cells = Cells::kWhole;
};

// Rows have a cell a column. `width`: the characters that a line may have; 0: any number. A table that is
// wider has its columns closer together, and the longest of the columns that may be shortened is, with an
// ellipsis, to no less than kShortest. One that is too wide even so is whole, and its lines wrap.
std::string text_table(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width = 0);
inline constexpr size_t kShortest = 8;

// Of the terminal to which stdout goes; 0: it goes to none, or one that does not say.
size_t terminal_width();

}  // namespace tf::tracker
