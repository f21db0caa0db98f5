#include "tuner/web/gateway/answers.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/status.h"
#include "rpc/connection/grpc_status.h"
#include "tuner/web/gateway/disk_paths.h"
#include "tuner/web/gateway/json.h"

namespace tf::web {

absl::Status status_of(const Route& route, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (route.at_tracker && status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(
        "the tuner's tracker does not answer: check that it runs, or try again later");
  }
  const absl::Status ours = rpc::from_grpc(status);
  return absl::Status(ours.code(), without_disk_paths(std::string(ours.message())));
}

absl::StatusOr<std::string> reply_json(const Route& route, std::string_view message) {
  TF_ASSIGN_OR_RETURN(std::string json, json_of_message(*route.call->output_type(), message));
  return without_disk_paths(std::move(json));
}

asio::awaitable<void> answer_reply(Exchange& exchange, const Route& route, std::string message) {
  const absl::StatusOr<std::string> json = reply_json(route, message);
  if (!json.ok()) {
    co_await answer_error(exchange, json.status());
    co_return;
  }
  const std::string line = *json + "\n";
  Answer answer{.type = "application/json", .body = line};
  co_await exchange.answer(std::move(answer));
}

}  // namespace tf::web
