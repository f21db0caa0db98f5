#pragma once
// Owns: how the time of a kernel or a network reads. Does not know: ages (age_text.h).

#include <string>

#include "absl/strings/str_format.h"

namespace tf {

// "1.234 ms", "56.7 us", "890 ns".
inline std::string duration_text(double ns) {
  if (ns < 1e3) return absl::StrFormat("%.0f ns", ns);
  if (ns < 1e6) return absl::StrFormat("%.1f us", ns / 1e3);
  if (ns < 1e9) return absl::StrFormat("%.3f ms", ns / 1e6);
  return absl::StrFormat("%.3f s", ns / 1e9);
}

}  // namespace tf
