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

// Logs the message and the effective configuration: as a field "configuration", an object, where logs are
// JSON, else as one line of protobuf's text format after the message.
void log_configuration(const std::string& message, const google::protobuf::Message& config);

}  // namespace tf::rpc
