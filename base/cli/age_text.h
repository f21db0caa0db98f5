#pragma once
// Owns: how long something lasts, as every table and line of ours says it. Pure.

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace tf {

// "45s", "3m20s", "3h20m", "2d4h": the two largest units. What is negative is "0s".
inline std::string age_text(int64_t seconds) {
  const int64_t s = std::max<int64_t>(0, seconds);
  if (s < 60) return absl::StrCat(s, "s");
  if (s < 3600) return absl::StrCat(s / 60, "m", s % 60, "s");
  if (s < 86400) return absl::StrCat(s / 3600, "h", s / 60 % 60, "m");
  return absl::StrCat(s / 86400, "d", s / 3600 % 24, "h");
}

}  // namespace tf
