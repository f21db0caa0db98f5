#pragma once
// Owns: what a command's output must not replace. Does not know: what is written.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tf {

// What a SQLite database begins with.
inline constexpr std::string_view kSqliteSignature = "SQLite format 3";

// FAILED_PRECONDITION if a SQLite database is there, also behind a link: whoever names a tuning database as the output of
// `tuner export` has mistaken it for the input, and would lose all that an export leaves out.
absl::Status check_output(const std::string& path);

// INVALID_ARGUMENT if `output` is one of the files that the command uses, under whatever name: they are
// compared by device and inode. What is no plain file (a terminal, a pipe) is no input that can be lost.
// `option` is what named the output, as in "-o"; an input that is not there is passed over.
absl::Status check_is_no_input(const std::string& output, std::string_view option,
                               const std::vector<std::string>& inputs);

// write_file() of base/files/file.h after that check.
absl::Status write_output(const std::string& path, std::string_view bytes);

}  // namespace tf
