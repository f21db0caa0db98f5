#include "base/cli/text_table.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text/printable.h"

namespace tf {
namespace {

constexpr size_t kGap = 2;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

// Of each column that is shown, its place and its width.
struct Shown {
  size_t column = 0, width = 0;
};

bool fits(const std::vector<Shown>& shown, size_t width) {
  const size_t gaps = kGap * (shown.size() - 1);
  return std::accumulate(shown.begin(), shown.end(), gaps,
                         [](size_t sum, const Shown& each) { return sum + each.width; }) <= width;
}

// The longest column that can still be cut.
Shown* next_to_cut(const std::vector<TableColumn>& columns, std::vector<Shown>& shown, size_t shortest) {
  Shown* longest = nullptr;
  for (Shown& each : shown) {
    const TableColumn& column = columns[each.column];
    const bool is_free =
        column.cells == Cells::kShortened && each.width > std::max(shortest, characters(column.heading));
    if (is_free && (longest == nullptr || each.width > longest->width)) longest = &each;
  }
  return longest;
}

// These columns, with cells cut to no less than `shortest`; nothing if they do not fit even so.
std::optional<std::vector<Shown>> cut_to_fit(const std::vector<TableColumn>& columns,
                                             std::vector<Shown> shown, size_t width, size_t shortest) {
  while (!fits(shown, width)) {
    Shown* const longest = next_to_cut(columns, shown, shortest);
    if (longest == nullptr) return std::nullopt;
    --longest->width;
  }
  return shown;
}

// Without the columns that may be left out and have a text in no row.
std::vector<Shown> without_empty(const std::vector<TableColumn>& columns, std::vector<Shown> shown,
                                 const std::vector<std::vector<std::string>>& rows) {
  std::erase_if(shown, [&](const Shown& each) {
    return columns[each.column].cells == Cells::kLeftOut &&
           std::all_of(rows.begin() + 1, rows.end(),
                       [&](const auto& row) { return row[each.column].empty(); });
  });
  return shown;
}

// Whole where nothing helps: lines that wrap all the same would have lost their texts for nothing.
// `rows` begin with the headings.
std::vector<Shown> fitting(const std::vector<TableColumn>& columns, const std::vector<Shown>& whole,
                           const std::vector<std::vector<std::string>>& rows, size_t width) {
  if (width == 0 || fits(whole, width)) return whole;
  std::vector<Shown> fewer = without_empty(columns, whole, rows);
  for (;;) {
    if (auto fit = cut_to_fit(columns, fewer, width, kShort)) return *fit;
    const auto last = std::find_if(fewer.rbegin(), fewer.rend(), [&](const Shown& each) {
      return columns[each.column].cells == Cells::kLeftOut;
    });
    if (last == fewer.rend()) break;
    fewer.erase(std::next(last).base());
  }
  return cut_to_fit(columns, fewer, width, kShortest).value_or(whole);
}

}  // namespace

std::string shortened(const std::string& text, size_t most_characters) {
  if (characters(text) <= most_characters) return text;
  size_t bytes = 0;
  for (size_t kept = 0; bytes < text.size(); ++bytes) {
    if (begins_character(text[bytes]) && ++kept == most_characters) break;
  }
  return text.substr(0, bytes) + "…";
}

std::string text_table(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width) {
  std::vector<std::string> headings;
  for (const TableColumn& column : columns) headings.push_back(column.heading);
  rows.insert(rows.begin(), std::move(headings));
  std::vector<Shown> whole;
  for (size_t i = 0; i < columns.size(); ++i) whole.push_back({.column = i});
  for (std::vector<std::string>& row : rows) {
    TF_CHECK(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i], row[i].size());  // agents and tuners choose their names
      whole[i].width = std::max(whole[i].width, characters(row[i]));
    }
  }
  const std::vector<Shown> shown = fitting(columns, whole, rows, width);
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (const Shown& each : shown) {
      if (&each != &shown.front()) line.append(kGap, ' ');
      const std::string cell = shortened(row[each.column], each.width);
      const std::string blanks(each.width - characters(cell), ' ');
      line += columns[each.column].side == Side::kRight ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

size_t terminal_width(std::FILE* stream) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace tf
