#pragma once
// Owns: how many of something, in English. Does not know: of what.

#include <cstdint>
#include <string>
#include <string_view>

namespace tf {

// "1 thread", "2 threads": `one` takes an s where there is not one.
inline std::string counted(int64_t number, std::string_view one) {
  return std::to_string(number) + " " + std::string(one) + (number == 1 ? "" : "s");
}

}  // namespace tf
