#include "tuner/web/gateway/gateway.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "base/version.h"
#include "tuner/web/assets.h"
#include "tuner/web/gateway/json.h"
#include "tuner/web/http/origin.h"

namespace tf::web {
namespace {

bool is_get(const RequestHead& head) {
  return head.method == "GET" || head.method == "HEAD";
}

std::string content_type(const RequestHead& head) {
  const std::string field = absl::AsciiStrToLower(std::string(head.field("content-type")));
  return std::string(absl::StripAsciiWhitespace(field.substr(0, field.find(';'))));
}

asio::awaitable<void> refuse_method(Exchange& exchange, std::string allowed) {
  const std::string body = error_json(absl::UnimplementedError(absl::StrCat(
      printable(exchange.head().path), " takes ", allowed, ", not ", printable(exchange.head().method))));
  Answer answer{.status = 405, .type = "application/json", .body = body};
  answer.fields.emplace_back("Allow", std::move(allowed));
  co_await exchange.answer(std::move(answer));
}

}  // namespace

asio::awaitable<void> Gateway::serve(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  const absl::Status meant = check_host(head, options_.host_names);
  if (!meant.ok()) {
    co_await answer_error(exchange, meant);
  } else if (head.path.starts_with(kApi)) {
    co_await serve_api(exchange);
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
  if (head.path == absl::StrCat(std::string(kApi), "session")) {
    co_await serve_session(exchange);
    co_return;
  }
  const Route* route = find_route(head.path);
  if (!route) {
    co_await answer_error(exchange,
                          absl::NotFoundError(absl::StrCat("there is no ", printable(head.path),
                                                           ": /api/v1/openapi.json describes all calls")));
    co_return;
  }
  if (head.method != "POST" && !(is_get(head) && route->is_read())) {
    std::string allowed = route->is_read() ? "GET, HEAD, POST" : "POST";
    co_await refuse_method(exchange, std::move(allowed));
    co_return;
  }
  co_await serve_call(exchange, *route);
}

asio::awaitable<void> Gateway::serve_session(Exchange& exchange) {
  if (!is_get(exchange.head())) {
    co_await refuse_method(exchange, "GET, HEAD");
    co_return;
  }
  const std::string body = json_text({{"secured", false},
                                      {"role", "admin"},
                                      {"name", ""},
                                      {"version", std::string(version())},
                                      {"expiresUnixS", 0}});
  Answer answer{.type = "application/json", .body = body};
  co_await exchange.answer(std::move(answer));
}

asio::awaitable<void> Gateway::serve_call(Exchange& exchange, const Route& route) {
  if (route.takes_model) {
    co_await submit(exchange, route);
    co_return;
  }
  if (exchange.head().method == "POST" && content_type(exchange.head()) != "application/json") {
    co_await answer_error(
        exchange, absl::InvalidArgumentError("this call needs the field `Content-Type: application/json`"),
        415);
    co_return;
  }
  absl::StatusOr<std::string> request = co_await request_of(exchange, route);
  if (!request.ok()) {
    co_await answer_error(exchange, request.status(), absl::IsResourceExhausted(request.status()) ? 413 : 0);
  } else if (route.answers_parts) {
    co_await answer_parts(exchange, route, *std::move(request));
  } else {
    co_await answer_message(exchange, route, *std::move(request));
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
