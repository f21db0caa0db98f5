#pragma once
// Owns: error text for a name that is not in a closed list: the list, and the entry that is spelled most
// alike, or that other programs have another word for.

#include <string>
#include <string_view>
#include <vector>

namespace tf {

// "; did you mean X?" if one of the words is at most two edits away (fewer for a short word); else "".
std::string suggestion(std::string_view given, const std::vector<std::string>& words);

// "there is no KIND 'given'; did you mean X? There are A, B, C", without the question if no word is close.
std::string no_such_name(std::string_view kind, std::string_view given,
                         const std::vector<std::string>& words);

// Words that people bring from other programs for one of our names.
struct Synonyms {
  std::string_view name;
  std::string_view words;  // separated by single spaces

  bool contains(std::string_view word) const;
};

}  // namespace tf
