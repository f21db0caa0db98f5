#include "base/cli/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf {
namespace {

// How many letters must be added, left out or replaced to make one word of the other (Levenshtein 1966).
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

// Two edits also cover a swap of neighbours.
std::string suggestion(std::string_view given, const std::vector<std::string>& words) {
  const std::string* nearest = nullptr;
  size_t distance = std::min<size_t>(3, given.size() / 2 + 1);
  for (const std::string& word : words) {
    if (const size_t d = edits(given, word); d < distance) {
      distance = d;
      nearest = &word;
    }
  }
  return nearest ? absl::StrCat("; did you mean ", *nearest, "?") : "";
}

std::string no_such_name(std::string_view kind, std::string_view given,
                         const std::vector<std::string>& words) {
  const std::string guess = suggestion(given, words);
  return absl::StrCat("there is no ", std::string(kind), " '", std::string(given), "'",
                      guess.empty() ? "." : guess, " There are ", absl::StrJoin(words, ", "));
}

bool Synonyms::contains(std::string_view word) const {
  const std::vector<std::string> all = absl::StrSplit(std::string(words), ' ');
  return std::ranges::count(all, word) > 0;
}

}  // namespace tf
