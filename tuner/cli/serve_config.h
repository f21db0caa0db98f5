#pragma once
// Owns: the configuration of `tuner serve` from its three sources. Does not know: the command line, what a
// tuner does with it.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/file.h"

namespace tunefarm::config::v1 {
class Tuner;
}

namespace tf::tuner_cli {

// No model that we read is larger.
inline constexpr uint32_t kMostModelMib = kMostFileBytes >> 20;

tunefarm::config::v1::Tuner default_serve_config();

// The defaults, over them what the file at `path` sets (no file if it is empty), over that what `flags` sets.
// Errors: as rpc::merge_text_config; INVALID_ARGUMENT without a database, or with a value that a flag could
// not have.
absl::StatusOr<tunefarm::config::v1::Tuner> serve_config(const std::string& path,
                                                         const tunefarm::config::v1::Tuner& flags);

}  // namespace tf::tuner_cli
