#pragma once
// Owns: the records that daemons write to standard error, one line each whatever a peer has put into it, for
// people or as JSON for a log collector. Does not know: what is logged.

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace spdlog {
class formatter;
}

namespace tf::rpc {

struct LogOptions {
  std::string level = "info";   // debug, info, warning or error
  std::string format = "text";  // or json
};

// INVALID_ARGUMENT, with the words that there are.
absl::Status check(const LogOptions& options);

// Once, in main: spdlog's default logger and gRPC's own messages go to standard error; records that repeat
// within a second are collapsed (collapsed_log.h). check()'s errors.
absl::Status log_to_stderr(const std::string& program, const LogOptions& options = {});
// Whether log_to_stderr was told so.
bool logs_are_json();

// "2026-05-01T09:00:00.000 tracker info: MESSAGE", local time; printable(): no control characters, no second
// line.
std::unique_ptr<spdlog::formatter> text_log_format();
// {"time":"2026-05-01T09:00:00.000Z","level":"info","program":"tracker","message":"MESSAGE"}, with what the
// record is about (log_fields.h): ASCII, UTC; bytes that are not UTF-8 become U+FFFD.
std::unique_ptr<spdlog::formatter> json_log_format();

}  // namespace tf::rpc
