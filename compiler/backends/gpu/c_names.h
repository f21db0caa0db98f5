#pragma once
// Owns: C names for variables and buffers, each its own. Does not know: what they name.

#include <map>
#include <set>
#include <string>

namespace tf::backends {

class CNames {
 public:
  // As near to `wish` as C allows; the same for the same node.
  std::string of(const void* node, const std::string& wish);

 private:
  std::map<const void*, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace tf::backends
