#pragma once
// Owns: how the fakes learn what their test wants: from a variable of the environment, or from an entry NAME=VALUE of
// LD_LIBRARY_PATH, which every process that has a driver sees. Does not know: what is wanted.

#include <cstdlib>
#include <string>

namespace fake {

// Empty: nothing.
inline std::string told(const std::string& name) {
  if (const char* value = getenv(name.c_str())) return value;
  const char* paths = getenv("LD_LIBRARY_PATH");
  const std::string all = paths == nullptr ? "" : std::string(":") + paths + ":", key = ":" + name + "=";
  const size_t found = all.find(key);
  if (found == std::string::npos) return "";
  const size_t begin = found + key.size();
  return all.substr(begin, all.find(':', begin) - begin);
}

}  // namespace fake
