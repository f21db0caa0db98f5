#include "tuner/cli/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace tf::tuner_cli {

std::vector<std::string> text_table(const std::vector<std::vector<std::string>>& rows,
                                    std::string_view sides) {
  std::vector<size_t> widths(sides.size());
  for (const std::vector<std::string>& row : rows) {
    TF_CHECK(row.size() == sides.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += i == 0 ? "" : " ";
      line += sides[i] == 'r' ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tf::tuner_cli
