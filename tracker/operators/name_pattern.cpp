#include "tracker/operators/name_pattern.h"

namespace tf::tracker {

bool matches_pattern(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  // Each part between two stars where it comes first; what is behind the last star must end the name.
  for (pattern.remove_prefix(star + 1); (star = pattern.find('*')) != std::string_view::npos;
       pattern.remove_prefix(star + 1)) {
    const size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
  }
  return name.ends_with(pattern);
}

}  // namespace tf::tracker
