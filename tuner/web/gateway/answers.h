#pragma once
// Owns: what callers are told of an answer of gRPC: its message as JSON, or its error in their terms; neither
// tells where the server keeps its files. Does not know: how the answer came.

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/web/gateway/routes.h"
#include "tuner/web/http/exchange.h"

namespace grpc {
class Status;
}

namespace tf::web {

absl::Status status_of(const Route& route, const grpc::Status& status);
// INTERNAL: the bytes are no such message.
absl::StatusOr<std::string> reply_json(const Route& route, std::string_view message);
asio::awaitable<void> answer_reply(Exchange& exchange, const Route& route, std::string message);

}  // namespace tf::web
