#include "tuner/web/http/exchange.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/text/json_text.h"

namespace tf::web {

std::string_view RequestHead::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

asio::awaitable<absl::StatusOr<std::string>> whole_body(Exchange& exchange, size_t most) {
  const absl::Status too_large = absl::ResourceExhaustedError(absl::StrCat("the body has more than ", most,
                                                                           " bytes, which is the most "
                                                                           "that this call takes"));
  if (exchange.body_bytes().value_or(0) > most) co_return too_large;
  std::string body;
  std::vector<char> part(16 << 10);
  for (;;) {
    const absl::StatusOr<size_t> bytes = co_await exchange.read_body(part.data(), part.size());
    if (!bytes.ok()) co_return bytes.status();
    if (*bytes == 0) co_return body;
    if (body.size() + *bytes > most) co_return too_large;
    body.append(part.data(), *bytes);
  }
}

int http_status_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string error_json(const absl::Status& error) {
  return json_text(
      {{"code", absl::StatusCodeToString(error.code())}, {"message", std::string(error.message())}});
}

asio::awaitable<bool> answer_error(Exchange& exchange, absl::Status error, int status) {
  const std::string body = error_json(error) + "\n";
  Answer answer{.status = status != 0 ? status : http_status_of(error.code()),
                .type = "application/json",
                .body = body};
  if (answer.status == 401) answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (answer.status == 429 || answer.status == 503) answer.fields.emplace_back("Retry-After", "1");
  co_return co_await exchange.answer(std::move(answer));
}

}  // namespace tf::web
