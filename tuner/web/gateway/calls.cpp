// The calls themselves: one message for one, and a stream of them.
#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/access/local_caller.h"
#include "tuner/web/gateway/answers.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/gateway/json.h"

namespace tf::web {
namespace {

// A stream's end, or its error, in one of the two forms of streams.
std::string last_line(const absl::Status& status, bool events) {
  if (!events) return status.ok() ? "" : error_json(status) + "\n";
  if (status.ok()) return "event: end\ndata: {}\n\n";
  return absl::StrCat("event: error\ndata: ", error_json(status), "\n\n");
}

}  // namespace

std::shared_ptr<UpstreamCall> Gateway::begin(Exchange& exchange, const Route& route, const WebCaller& caller,
                                             absl::Duration deadline) {
  const auto prepare = [&](grpc::ClientContext& context) {
    // The tracker knows the tuner by its certificate; what the caller may ask of it the gate has said.
    if (caller.token && !route.at_tracker) rpc::call_as(context, caller.token->identity);
  };
  auto call = UpstreamCall::begin(exchange.executor(), route.at_tracker ? options_.tracker : options_.tuner,
                                  route.method, deadline, prepare);
  exchange.when_gone([call] { call->cancel(); });
  return call;
}

asio::awaitable<void> Gateway::answer_message(Exchange& exchange, const Route& route, const WebCaller& caller,
                                              std::string request) {
  const auto call = begin(exchange, route, caller, options_.call_timeout);
  const absl::Cleanup end = [call] { call->cancel(); };
  co_await call->write(request, /*is_last=*/true);
  const UpstreamCall::Read read = co_await call->read();
  const grpc::Status status = co_await call->finish();
  exchange.when_gone(nullptr);
  if (!status.ok()) {
    co_await answer_error(exchange, status_of(route, status));
    co_return;
  }
  const std::string reply = read == UpstreamCall::Read::kMessage ? call->take_message() : "";
  co_await answer_reply(exchange, route, reply);
}

asio::awaitable<void> Gateway::answer_parts(Exchange& exchange, const Route& route, const WebCaller& caller,
                                            std::string request) {
  const auto call = begin(exchange, route, caller, absl::ZeroDuration());
  const absl::Cleanup end = [call] { call->cancel(); };
  co_await call->write(request, /*is_last=*/true);
  const bool events = absl::StrContains(std::string(exchange.head().field("accept")), "text/event-stream");
  const Answer head{.type = events ? "text/event-stream" : "application/x-ndjson"};
  bool begun = false, open = true;
  absl::Status ended;  // by us
  // The next message is asked for once the caller has taken the one before: a slow caller of WatchJob misses
  // what is old, and of no other stream anything piles up here.
  while (open && ended.ok()) {
    const UpstreamCall::Read read = co_await call->read(options_.heartbeat);
    if (read == UpstreamCall::Read::kEnd) break;
    if (!gate_.is_good(caller)) {
      ended = absl::UnauthenticatedError("the token has expired or was revoked");
      break;
    }
    std::string text = ": still here\n\n";
    if (read == UpstreamCall::Read::kMessage) {
      const absl::StatusOr<std::string> json = reply_json(route, call->take_message());
      ended = json.status();
      if (!json.ok()) break;
      text = events ? absl::StrCat("data: ", *json, "\n\n") : *json + "\n";
    } else if (!events) {
      continue;
    }
    if (!std::exchange(begun, true)) open = co_await exchange.begin_parts(head);
    if (open) open = co_await exchange.part(text);
  }
  if (!open) co_return;
  if (ended.ok()) {
    const grpc::Status finished = co_await call->finish();
    ended = status_of(route, finished);
  }
  if (!begun && !ended.ok()) {
    co_await answer_error(exchange, ended);
    co_return;
  }
  if (!begun) open = co_await exchange.begin_parts(head);
  const std::string last = last_line(ended, events);
  if (open && !last.empty()) open = co_await exchange.part(last);
  if (open) co_await exchange.end_parts();
}

}  // namespace tf::web
