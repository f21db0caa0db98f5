#pragma once
// Owns: what describes one version of a set of records, its text, and what a signature of it says. Does not know: where
// sets are kept.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"

namespace tf::record_sets {

// A set and all that describes it are no larger.
inline constexpr int64_t kMostContentBytes = 256 << 20;
inline constexpr int64_t kMostManifestBytes = 64 << 10;

struct Manifest {
  std::string name;
  int64_t version = 1;  // 1, 2, 3, …
  std::string device_class;
  std::vector<std::string> targets;  // canonical texts, sorted
  uint32_t semantics_version = 0;    // of schedules
  int64_t workloads = 0, measurements = 0, verdicts = 0;
  int64_t bytes = 0;  // of the records as JSON lines
  Digest content;     // SHA-256 of these
  std::optional<Digest>
      previous;  // SHA-256 of the manifest of the version before; nothing: this is the first
  int64_t created_unix_ns = 0;
  std::string by;  // who made it, as told by whoever did
  bool operator==(const Manifest&) const = default;
};

// JSON, for files and people.
std::string to_text(const Manifest& manifest);
// INVALID_ARGUMENT with what is wrong, for what to_text cannot have written.
absl::StatusOr<Manifest> parse_manifest(const std::string& text);

// A set's name is part of files' and pages' names: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first none of '.'
// and '-'. INVALID_ARGUMENT.
absl::Status check_name(const std::string& name);

// What is signed: the manifest's text after words that keep the signature from meaning anything else.
std::string statement_of(std::string_view manifest_text);

// Files of a version.
std::string manifest_file(int64_t version);      // "v3.json"
std::string signature_file(int64_t version);     // "v3.sig": the signature in base64
std::string content_file(int64_t version);       // "v3.jsonl"
inline constexpr char kLatestFile[] = "latest";  // the number of the newest version

}  // namespace tf::record_sets
