#pragma once
// Owns: unique C names for variables and buffers. Does not know: what they name.

#include <map>
#include <set>
#include <string>

namespace tf::backends {

class CNames {
 public:
  // A name as close to `wish` as C allows. Calls with the same node return the same name.
  std::string of(const void* node, const std::string& wish);

 private:
  std::map<const void*, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace tf::backends
