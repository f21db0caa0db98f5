#include "tuner/web/gateway/gateway.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "base/version.h"
#include "tuner/web/assets.h"
#include "tuner/web/gateway/json.h"
#include "tuner/web/gateway/openapi.h"
#include "tuner/web/http/origin.h"

namespace tf::web {
namespace {

constexpr const char* kSession = "/api/v1/session";
constexpr const char* kDescription = "/api/v1/openapi.json";
constexpr const char* kApiStyle = "/api/style.css";

bool is_get(const RequestHead& head) {
  return head.method == "GET" || head.method == "HEAD";
}

std::string content_type(const RequestHead& head) {
  const std::string field = absl::AsciiStrToLower(std::string(head.field("content-type")));
  return std::string(absl::StripAsciiWhitespace(field.substr(0, field.find(';'))));
}

// Of a request that is refused before it is a call.
int request_status(const RequestHead& head, const absl::Status& why) {
  if (absl::IsResourceExhausted(why)) return 413;
  return head.method == "POST" && content_type(head) != "application/json" ? 415 : 0;
}

asio::awaitable<void> refuse_method(Exchange& exchange, std::string allowed) {
  std::string body = error_json(absl::UnimplementedError(absl::StrCat(
      printable(exchange.head().path), " takes ", allowed, ", not ", printable(exchange.head().method))));
  body += '\n';
  Answer answer{.status = 405, .type = "application/json", .body = body};
  answer.fields.emplace_back("Allow", std::move(allowed));
  co_await exchange.answer(std::move(answer));
}

}  // namespace

asio::awaitable<void> Gateway::serve(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  const absl::Status meant = check_host(head, options_.host_names());
  if (!meant.ok()) {
    co_await answer_error(exchange, meant);
  } else if (head.path.starts_with(kApi)) {
    co_await serve_api(exchange);
  } else if (head.path == "/api" || head.path.starts_with("/api/")) {
    co_await serve_described(exchange);
  } else {
    co_await serve_asset(exchange);
  }
}

asio::awaitable<void> Gateway::serve_api(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  const absl::Status same_origin = check_same_origin(head);
  if (!same_origin.ok()) {
    co_await answer_error(exchange, same_origin);
    co_return;
  }
  if (head.path == kDescription) {
    co_await serve_described(exchange);
    co_return;
  }
  const bool is_session = head.path == kSession;
  const Route* route = is_session ? nullptr : find_route(head.path);
  if (!route && !is_session) {
    const std::string message =
        absl::StrCat("there is no ", printable(head.path), ": ", kDescription, " describes all calls");
    co_await answer_error(exchange, absl::NotFoundError(message));
    co_return;
  }
  const bool may_get = is_session || route->is_read();
  const bool may_post = !is_session;
  if (!(head.method == "POST" && may_post) && !(is_get(head) && may_get)) {
    std::string allowed =
        absl::StrCat(may_get ? "GET, HEAD" : "", may_get && may_post ? ", " : "", may_post ? "POST" : "");
    co_await refuse_method(exchange, std::move(allowed));
    co_return;
  }
  const absl::StatusOr<WebCaller> caller = gate_.identify(head);
  absl::Status admitted = caller.status();
  if (admitted.ok() && route) admitted = gate_.admit(*caller, route->method);
  if (!admitted.ok()) {
    if (route && !caller.ok()) gate_.note_refusal(route->method, admitted);
    co_await answer_error(exchange, admitted);
    co_return;
  }
  const absl::Duration wait = gate_.wait(*caller, head);
  if (wait > absl::ZeroDuration()) {
    co_await answer_error(exchange,
                          absl::ResourceExhaustedError("you call too often: at most 100 times a second"));
  } else if (is_session) {
    co_await serve_session(exchange, *caller);
  } else {
    co_await serve_call(exchange, *route, *caller);
  }
}

asio::awaitable<void> Gateway::serve_session(Exchange& exchange, const WebCaller& caller) {
  nlohmann::json session = {{"secured", gate_.is_secured()},
                            {"role", "admin"},
                            {"name", ""},
                            {"version", std::string(version())},
                            {"expiresUnixS", 0}};
  if (caller.token) {
    session["role"] = std::string(rpc::role_name(caller.token->identity.role));
    session["name"] = caller.token->identity.name;
    session["expiresUnixS"] = absl::ToUnixSeconds(caller.token->ends);
  }
  const std::string body = json_text(session);
  Answer answer{.type = "application/json", .body = body};
  co_await exchange.answer(std::move(answer));
}

// Nothing of it is a secret: whoever has the program has it.
asio::awaitable<void> Gateway::serve_described(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  if (!is_get(head)) {
    co_await refuse_method(exchange, "GET, HEAD");
    co_return;
  }
  Answer answer{.type = "text/html; charset=utf-8", .body = api_page()};
  if (head.path == kDescription) answer = {.type = "application/json", .body = openapi_text()};
  if (head.path == kApiStyle) answer = {.type = "text/css; charset=utf-8", .body = api_style()};
  answer.fields.emplace_back("Cache-Control", "no-cache");
  co_await exchange.answer(std::move(answer));
}

// A place is taken once the request is there: whoever sends it slowly takes none. An upload has one of its own kind
// while it comes.
asio::awaitable<void> Gateway::serve_call(Exchange& exchange, const Route& route, const WebCaller& caller) {
  std::string request;
  if (!route.takes_model) {
    absl::StatusOr<std::string> read = co_await request_of(exchange, route);
    if (!read.ok()) {
      co_await answer_error(exchange, read.status(), request_status(exchange.head(), read.status()));
      co_return;
    }
    request = *std::move(read);
  }
  std::atomic<int>& under_way = route.takes_model ? uploads_ : route.answers_parts ? streams_ : calls_;
  const int most = route.takes_model     ? options_.most_uploads
                   : route.answers_parts ? options_.most_streams
                                         : options_.most_calls;
  const absl::Cleanup leave = [&under_way] { --under_way; };
  if (++under_way > most) {
    const std::string message = absl::StrCat("this tuner serves at most ", most,
                                             route.takes_model     ? " uploads"
                                             : route.answers_parts ? " streams"
                                                                   : " calls",
                                             " of HTTP at once: close others, or try again later");
    co_await answer_error(exchange, absl::ResourceExhaustedError(message));
  } else if (route.takes_model) {
    co_await submit(exchange, route, caller);
  } else if (route.answers_parts) {
    co_await answer_parts(exchange, route, caller, std::move(request));
  } else {
    co_await answer_message(exchange, route, caller, std::move(request));
  }
}

asio::awaitable<absl::StatusOr<std::string>> Gateway::request_of(Exchange& exchange, const Route& route) {
  const RequestHead& head = exchange.head();
  std::string json;
  if (is_get(head)) {
    const absl::StatusOr<Parameters> parameters = parse_query(head.query);
    if (!parameters.ok()) co_return parameters.status();
    absl::StatusOr<std::string> made = json_of_parameters(*route.call->input_type(), *parameters);
    if (!made.ok()) co_return made.status();
    json = *std::move(made);
  } else {
    if (content_type(head) != "application/json")
      co_return absl::InvalidArgumentError("this call needs the field `Content-Type: application/json`");
    absl::StatusOr<std::string> body = co_await whole_body(exchange, options_.most_json_bytes);
    if (!body.ok()) co_return body.status();
    json = *std::move(body);
    if (absl::StripAsciiWhitespace(json).empty()) json = "{}";
  }
  co_return message_of_json(*route.call->input_type(), json);
}

asio::awaitable<void> Gateway::serve_asset(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  if (!is_get(head)) {
    co_await refuse_method(exchange, "GET, HEAD");
    co_return;
  }
  const Asset* asset = page_asset(head.path);
  if (!asset) {
    co_await answer_error(exchange, absl::NotFoundError(absl::StrCat("there is no ", printable(head.path))));
    co_return;
  }
  Answer answer{.type = std::string(asset->type), .body = asset->content};
  answer.fields.emplace_back("ETag", asset->etag);
  // Their names change with their content.
  const bool lasts = head.path.starts_with("/assets/");
  answer.fields.emplace_back("Cache-Control", lasts ? "public, max-age=31536000, immutable" : "no-cache");
  if (head.field("if-none-match") == asset->etag) {
    answer.status = 304;
    answer.body = {};
  }
  co_await exchange.answer(std::move(answer));
}

}  // namespace tf::web
