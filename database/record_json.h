#pragma once
// Owns: the JSON form of workloads, measurements and verdicts, one object a line. It is canonical (sorted keys,
// shortest round-trip numbers), so that a record's digest can be taken from it. Does not know: files.

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "database/record.h"

namespace tf::database {

inline constexpr int kJsonLinesVersion = 2;

// The first line of a file of JSON lines.
struct JsonHeader {
  int version = kJsonLinesVersion;
};
// A time inside a network, which version 1 recorded and nothing uses any more.
struct JsonNetworkTime {};
using JsonLine = std::variant<JsonHeader, Workload, Measurement, NetworkVerdict, JsonNetworkTime>;

// One line without its newline. `id` and `job_id` of a measurement are left out.
std::string to_json(const JsonHeader& header);
std::string to_json(const Workload& workload);
std::string to_json(const Measurement& measurement);
std::string to_json(const NetworkVerdict& verdict);
// With its time and the 95% bounds of that, for those who read the line. Both follow from the samples.
std::string to_json_with_bounds(const Measurement& measurement);

// INVALID_ARGUMENT, with what is wrong in the line, for anything that to_json cannot have written: a workload
// whose key is not its text's digest, an unknown outcome, a missing field, a time that does not follow from the
// samples, or bounds that do not enclose it. How wide the bounds are is an estimate, which another version may
// make otherwise, and is not compared. Unknown fields are ignored.
absl::StatusOr<JsonLine> parse_json_line(std::string_view line);

}  // namespace tf::database
