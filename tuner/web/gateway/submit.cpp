// A model that is uploaded: the body goes on to the tuner chunk by chunk, as it comes.
#include <google/protobuf/descriptor.h>

#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "proto/tune/v1/tune.pb.h"
#include "rpc/transfer/transfer.h"
#include "tuner/web/gateway/answers.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/gateway/json.h"

namespace tf::web {
namespace {

namespace pb = tunefarm::tune::v1;

// A model of some hundred MB, and its import.
constexpr absl::Duration kSubmitTimeout = absl::Minutes(10);

// What the query says of it: ?spec={…}&submitter=NAME
absl::Status read_submission(const std::string& query, pb::SubmitRequest& first) {
  TF_ASSIGN_OR_RETURN(const Parameters parameters, parse_query(query));
  for (const auto& [name, value] : parameters) {
    if (name == "spec" && !first.has_spec()) {
      TF_ASSIGN_OR_RETURN(const std::string bytes, message_of_json(*pb::JobSpec::descriptor(), value));
      first.mutable_spec()->ParseFromString(bytes);
    } else if (name == "submitter" && first.submitter().empty()) {
      first.set_submitter(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "a submission takes the parameters spec and submitter, each once, not '", printable(name), "'"));
    }
  }
  if (first.has_spec()) return absl::OkStatus();
  return absl::InvalidArgumentError("a submission needs the parameter spec, a JobSpec as JSON");
}

struct Refusal {
  absl::Status why;
  int status = 0;  // of HTTP, where the code does not tell it
};

// Of what is known before the first byte of the model has come.
Refusal check_upload(const Exchange& exchange, uint64_t most_bytes) {
  if (exchange.head().field("content-type") != "application/octet-stream") {
    return {
        absl::InvalidArgumentError("a model is sent with the field `Content-Type: application/octet-stream`"),
        415};
  }
  const std::optional<uint64_t> size = exchange.body_bytes();
  if (!size) return {absl::InvalidArgumentError("a model is sent with the field Content-Length"), 411};
  if (*size <= most_bytes) return {};
  return {absl::ResourceExhaustedError(
              absl::StrCat("the model has ", *size, " bytes, but this tuner accepts at most ",
                           most_bytes >> 20, " MiB; use `tuner tune`, or raise the tuner's --max-model-mib")),
          413};
}

}  // namespace

asio::awaitable<void> Gateway::submit(Exchange& exchange, const Route& route, const WebCaller& caller) {
  Refusal refusal = check_upload(exchange, options_.most_model_bytes);
  pb::SubmitRequest first;
  if (refusal.why.ok()) refusal.why = read_submission(exchange.head().query, first);
  if (!refusal.why.ok()) {
    co_await answer_error(exchange, refusal.why, refusal.status);
    co_return;
  }
  const uint64_t size = *exchange.body_bytes();
  const auto call = begin(exchange, route, caller, kSubmitTimeout);
  const absl::Cleanup end = [call] { call->cancel(); };
  std::string message = first.SerializeAsString();
  bool open = co_await call->write(message, /*is_last=*/false);
  pb::SubmitRequest request;
  request.mutable_chunk()->set_size_bytes(size);
  std::vector<char> part(rpc::kChunkBytes);
  for (uint64_t sent = 0; open;) {
    const absl::StatusOr<size_t> bytes = co_await exchange.read_body(part.data(), part.size());
    if (!bytes.ok()) {
      co_await answer_error(exchange, bytes.status());
      co_return;
    }
    sent += *bytes;
    request.mutable_chunk()->set_content(part.data(), *bytes);
    message = request.SerializeAsString();
    open = co_await call->write(message, /*is_last=*/sent == size);
    if (sent == size) break;
    request.mutable_chunk()->clear_size_bytes();
  }
  const UpstreamCall::Read reply = co_await call->read();
  const grpc::Status status = co_await call->finish();
  exchange.when_gone(nullptr);
  if (!status.ok()) {
    co_await answer_error(exchange, status_of(route, status));
    co_return;
  }
  message = reply == UpstreamCall::Read::kMessage ? call->take_message() : "";
  co_await answer_reply(exchange, route, message);
}

}  // namespace tf::web
