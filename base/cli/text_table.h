#pragma once
// Owns: tables for people: a line a row under a heading, with two spaces between columns that are as wide as
// their cells. On a terminal a table that is too wide loses columns and has long cells cut. Does not know:
// what stands in the cells.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tf {

// What becomes of a column's cells in a table that is too wide.
enum class Cells {
  kWhole,
  kShortened,  // cut, with an ellipsis
  kLeftOut,    // all of the column, the last such column first
};
enum class Side { kLeft, kRight };  // to which cells keep

struct TableColumn {
  std::string heading;
  Cells cells = Cells::kWhole;
  Side side = Side::kLeft;
};

// Lines, each with a new line at its end. Rows have a cell a column; cells are shown as printable text.
// `width`: the characters that a line may have; 0: any number. A table that is wider leaves columns out,
// first those without a text, then beginning with the last, until it fits with no cell cut to less than kShort; then it cuts cells to
// kShortest. A table that is too wide even so is whole, and its lines wrap.
std::string text_table(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width = 0);
inline constexpr size_t kShort = 24, kShortest = 8;

// The text, or its beginning with an ellipsis if it has more characters.
std::string shortened(const std::string& text, size_t most_characters);

// Columns of the terminal to which the stream goes; 0: it goes to none, or one that does not say.
size_t terminal_width(std::FILE* stream = stdout);

}  // namespace tf
