#pragma once
// Owns: what a command's output must not replace. Does not know: what is written.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tf {

// What a SQLite database begins with.
inline constexpr std::string_view kSqliteSignature = "SQLite format 3";

// FAILED_PRECONDITION if a SQLite database is there, also behind a link: whoever names a tuning database as the output of
// `tuner export` has mistaken it for the input, and would lose all that an export leaves out.
absl::Status check_output(const std::string& path);

// write_file() of base/file.h after that check.
absl::Status write_output(const std::string& path, std::string_view bytes);

}  // namespace tf
