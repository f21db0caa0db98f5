#include "compiler/backends/gpu/c_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tf::backends {

std::string CNames::of(const void* node, const std::string& wish) {
  std::string& name = names_[node];
  if (!name.empty()) return name;
  std::string base;
  for (const char c : wish) base += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // No keyword and no name of a library ends so.
  name = base + "_";
  for (int i = 1; !used_.insert(name).second; ++i) name = absl::StrCat(base, "_", i, "_");
  return name;
}

}  // namespace tf::backends
