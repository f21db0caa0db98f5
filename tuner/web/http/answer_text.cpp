#include "tuner/web/http/answer_text.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tf::web {
namespace {

std::string reason_of(int status) {
  return std::string(
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status))));
}

}  // namespace

const char* const kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string answer_head(const Answer& answer, const Framing& framing) {
  std::string text = absl::StrCat("HTTP/1.1 ", answer.status, " ", reason_of(answer.status), "\r\n");
  const auto add = [&](const char* name, const std::string& value) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  };
  add("Date", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromUnixNanos(absl::GetCurrentTimeNanos()),
                               absl::UTCTimeZone()));
  if (!answer.type.empty()) add("Content-Type", answer.type);
  add("Content-Security-Policy", kContentSecurityPolicy);
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "DENY");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  const auto says_caching = [](const auto& field) { return field.first == "Cache-Control"; };
  if (std::ranges::none_of(answer.fields, says_caching)) add("Cache-Control", "no-store");
  for (const auto& [name, value] : answer.fields) add(name.c_str(), value);
  if (framing.chunked) add("Transfer-Encoding", "chunked");
  if (framing.length && answer.status != 304) add("Content-Length", absl::StrCat(*framing.length));
  add("Connection", framing.keep_alive ? "keep-alive" : "close");
  return text + "\r\n";
}

}  // namespace tf::web
