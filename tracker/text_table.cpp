#include "tracker/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/printable.h"

namespace tf::tracker {
namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(const std::string& text, size_t most) {
  if (characters(text) <= most) return text;
  size_t bytes = 0;
  for (size_t kept = 0; bytes < text.size(); ++bytes) {
    if (begins_character(text[bytes]) && ++kept == most) break;
  }
  return text.substr(0, bytes) + "…";
}

// The longest column that can still be shortened.
std::optional<size_t> next_to_shorten(const std::vector<TableColumn>& columns,
                                      const std::vector<size_t>& widths) {
  std::optional<size_t> longest;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_free = columns[i].cells == Cells::kShortened &&
                         widths[i] > std::max(kShortest, characters(columns[i].heading));
    if (is_free && (!longest || widths[i] > widths[*longest])) longest = i;
  }
  return longest;
}

struct Layout {
  std::vector<size_t> widths;  // a column's
  size_t gap = 2;              // between two

  bool fits(size_t width) const {
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1)) <= width;
  }
};

// Whole where nothing helps: lines that wrap all the same would have lost their texts for nothing.
Layout fitting(const std::vector<TableColumn>& columns, std::vector<size_t> whole, size_t width) {
  const Layout wide = {.widths = std::move(whole)};
  if (width == 0 || wide.fits(width)) return wide;
  Layout narrow = {.widths = wide.widths, .gap = 1};
  while (!narrow.fits(width)) {
    const std::optional<size_t> longest = next_to_shorten(columns, narrow.widths);
    if (!longest) return wide;
    --narrow.widths[*longest];
  }
  return narrow;
}

}  // namespace

std::string text_table(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width) {
  std::vector<std::string> headings;
  for (const TableColumn& column : columns) headings.push_back(column.heading);
  rows.insert(rows.begin(), std::move(headings));
  std::vector<size_t> widths(columns.size());
  for (std::vector<std::string>& row : rows) {
    TF_CHECK(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);  // agents and tuners choose their names
      widths[i] = std::max(widths[i], characters(row[i]));
    }
  }
  const Layout layout = fitting(columns, std::move(widths), width);
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = shortened(row[i], layout.widths[i]);
      line += cell;
      line.append(layout.widths[i] - characters(cell) + layout.gap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace tf::tracker
