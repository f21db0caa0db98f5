// The calls themselves: one message for one, a stream of them, and a model that is uploaded.
#include <google/protobuf/descriptor.h>

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "proto/tune/v1/tune.pb.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/transfer/transfer.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/gateway/json.h"
#include "tuner/web/gateway/upstream_call.h"

namespace tf::web {
namespace {

// A stream's end, or its error, in one of the two forms of streams.
std::string last_line(const absl::Status& status, bool events) {
  if (!events) return status.ok() ? "" : error_json(status) + "\n";
  return status.ok() ? "event: end\ndata: {}\n\n"
                     : absl::StrCat("event: error\ndata: ", error_json(status), "\n\n");
}

// A model of some hundred MB, and its import.
constexpr absl::Duration kSubmitTimeout = absl::Minutes(10);

// What the query says of it: ?spec={…}&submitter=NAME
absl::Status read_submission(const std::string& query, tunefarm::tune::v1::SubmitRequest& first) {
  TF_ASSIGN_OR_RETURN(const Parameters parameters, parse_query(query));
  for (const auto& [name, value] : parameters) {
    if (name == "spec" && !first.has_spec()) {
      TF_ASSIGN_OR_RETURN(const std::string bytes,
                          message_of_json(*tunefarm::tune::v1::JobSpec::descriptor(), value));
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

asio::awaitable<void> answer_json(Exchange& exchange, const std::string& json) {
  Answer answer{.type = "application/json", .body = json};
  co_await exchange.answer(std::move(answer));
}

}  // namespace

asio::awaitable<void> Gateway::answer_message(Exchange& exchange, const Route& route, std::string request) {
  const auto call =
      UpstreamCall::begin(exchange.executor(), route.at_tracker ? options_.tracker : options_.tuner,
                          route.method, options_.call_timeout, nullptr);
  const absl::Cleanup end = [call] { call->cancel(); };
  exchange.when_gone([call] { call->cancel(); });
  co_await call->write(request, /*is_last=*/true);
  const UpstreamCall::Read read = co_await call->read();
  const grpc::Status status = co_await call->finish();
  exchange.when_gone(nullptr);
  if (!status.ok()) {
    co_await answer_error(exchange, rpc::from_grpc(status));
    co_return;
  }
  const std::string reply = read == UpstreamCall::Read::kMessage ? call->take_message() : "";
  const absl::StatusOr<std::string> json = json_of_message(*route.call->output_type(), reply);
  if (json.ok()) {
    co_await answer_json(exchange, *json);
  } else {
    co_await answer_error(exchange, json.status());
  }
}

asio::awaitable<void> Gateway::answer_parts(Exchange& exchange, const Route& route, std::string request) {
  const absl::Cleanup leave = [this] { --streams_; };
  if (++streams_ > options_.most_streams) {
    co_await answer_error(exchange, absl::ResourceExhaustedError(
                                        absl::StrCat("this tuner serves at most ", options_.most_streams,
                                                     " streams at once: close others, or try again later")));
    co_return;
  }
  const auto call =
      UpstreamCall::begin(exchange.executor(), route.at_tracker ? options_.tracker : options_.tuner,
                          route.method, absl::ZeroDuration(), nullptr);
  const absl::Cleanup end = [call] { call->cancel(); };
  exchange.when_gone([call] { call->cancel(); });
  co_await call->write(request, /*is_last=*/true);
  const bool events = absl::StrContains(std::string(exchange.head().field("accept")), "text/event-stream");
  Answer head{.type = events ? "text/event-stream" : "application/x-ndjson"};
  bool begun = false, open = true;
  // The next message is asked for once the caller has taken the one before: a slow caller of WatchJob misses
  // what is old, and no other stream piles up here.
  while (open) {
    const UpstreamCall::Read read = co_await call->read(options_.heartbeat);
    if (read == UpstreamCall::Read::kEnd) break;
    std::string text = ": still here\n\n";
    if (read == UpstreamCall::Read::kMessage) {
      const absl::StatusOr<std::string> json =
          json_of_message(*route.call->output_type(), call->take_message());
      if (!json.ok()) {
        call->cancel();
        break;
      }
      text = events ? absl::StrCat("data: ", *json, "\n\n") : *json + "\n";
    } else if (!events) {
      continue;
    }
    if (!std::exchange(begun, true)) open = co_await exchange.begin_parts(head);
    if (open) open = co_await exchange.part(text);
  }
  if (!open) co_return;
  const absl::Status status = rpc::from_grpc(co_await call->finish());
  if (!begun && !status.ok()) {
    co_await answer_error(exchange, status);
    co_return;
  }
  if (!begun) open = co_await exchange.begin_parts(head);
  const std::string last = last_line(status, events);
  if (open && !last.empty()) open = co_await exchange.part(last);
  if (open) co_await exchange.end_parts();
}

asio::awaitable<void> Gateway::submit(Exchange& exchange, const Route& route) {
  namespace pb = tunefarm::tune::v1;
  const auto refuse = [&exchange](absl::Status error, int status = 0) {
    return answer_error(exchange, std::move(error), status);
  };
  if (exchange.head().field("content-type") != "application/octet-stream") {
    co_await refuse(
        absl::InvalidArgumentError("a model is sent with the field `Content-Type: "
                                   "application/octet-stream`"));
    co_return;
  }
  const std::optional<uint64_t> size = exchange.body_bytes();
  if (!size) {
    co_await refuse(absl::InvalidArgumentError("a model is sent with the field Content-Length"), 411);
    co_return;
  }
  if (*size > options_.most_model_bytes) {
    co_await refuse(
        absl::ResourceExhaustedError(absl::StrCat(
            "the model has ", *size, " bytes, but this tuner accepts at most ",
            options_.most_model_bytes >> 20, " MiB; use `tuner tune`, or raise the tuner's --max-model-mib")),
        413);
    co_return;
  }
  pb::SubmitRequest first;
  const absl::Status read = read_submission(exchange.head().query, first);
  if (!read.ok()) {
    co_await refuse(read);
    co_return;
  }
  const auto call =
      UpstreamCall::begin(exchange.executor(), options_.tuner, route.method, kSubmitTimeout, nullptr);
  const absl::Cleanup end = [call] { call->cancel(); };
  exchange.when_gone([call] { call->cancel(); });
  bool open = co_await call->write(first.SerializeAsString(), /*is_last=*/false);
  pb::SubmitRequest request;
  request.mutable_chunk()->set_size_bytes(*size);
  std::vector<char> part(rpc::kChunkBytes);
  for (uint64_t sent = 0; open;) {
    const absl::StatusOr<size_t> bytes = co_await exchange.read_body(part.data(), part.size());
    if (!bytes.ok()) {
      co_await refuse(bytes.status());
      co_return;
    }
    sent += *bytes;
    request.mutable_chunk()->set_content(part.data(), *bytes);
    const bool is_last = sent == *size;
    open = co_await call->write(request.SerializeAsString(), is_last);
    request.mutable_chunk()->clear_size_bytes();
    if (is_last) break;
  }
  const UpstreamCall::Read reply = co_await call->read();
  const grpc::Status status = co_await call->finish();
  exchange.when_gone(nullptr);
  if (!status.ok()) {
    co_await refuse(rpc::from_grpc(status));
    co_return;
  }
  const std::string message = reply == UpstreamCall::Read::kMessage ? call->take_message() : "";
  const absl::StatusOr<std::string> json = json_of_message(*route.call->output_type(), message);
  if (json.ok()) {
    co_await answer_json(exchange, *json);
  } else {
    co_await refuse(json.status());
  }
}

}  // namespace tf::web
