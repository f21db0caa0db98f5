#pragma once
// Owns: messages as JSON by protobuf's own mapping, from their descriptors, and requests as query parameters.
// Does not know: which call they belong to.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Descriptor;
}

namespace tf::web {

// The message's bytes. INVALID_ARGUMENT: not JSON, an unknown field, or a value that does not fit its field.
absl::StatusOr<std::string> message_of_json(const google::protobuf::Descriptor& type, std::string_view json);
// On one line, with fields that have their default. INTERNAL: the bytes are not such a message.
absl::StatusOr<std::string> json_of_message(const google::protobuf::Descriptor& type, std::string_view bytes);

using Parameters = std::vector<std::pair<std::string, std::string>>;
// "a=1&b=x%20y", in order. INVALID_ARGUMENT: a '%' without two hexadecimal digits after it, or bytes that are
// not UTF-8.
absl::StatusOr<Parameters> parse_query(std::string_view query);
// The request that the parameters stand for, as JSON: fields by their name in JSON or in the proto, repeated
// ones as often as they have values. INVALID_ARGUMENT: no such field, one that is a message, or given twice.
absl::StatusOr<std::string> json_of_parameters(const google::protobuf::Descriptor& type,
                                               const Parameters& parameters);

}  // namespace tf::web
