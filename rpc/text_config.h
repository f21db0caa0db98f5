#pragma once
// Owns: reading a daemon's --config file, in protobuf's text format. Does not know: what it configures.

#include <string>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace tf::rpc {

// Fields that the file sets replace those of `config`. NOT_FOUND or PERMISSION_DENIED: no such file, or not
// readable. INVALID_ARGUMENT: the first mistake, as FILE:LINE:COLUMN.
absl::Status merge_text_config(const std::string& path, google::protobuf::Message& config);

// One line, for the log of the effective configuration.
std::string one_line(const google::protobuf::Message& config);

}  // namespace tf::rpc
