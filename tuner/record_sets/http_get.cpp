#include "tuner/record_sets/http_get.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::record_sets {
namespace {

constexpr long kMostRedirects = 5;
constexpr long kConnectSeconds = 15;
constexpr long kLeastBytesPerS = 1024;

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part_of(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return "";
  const std::string copy = text;
  curl_free(text);
  return copy;
}

bool is_this_machine(const std::string& host) {
  in_addr address{};
  const bool is_v4 = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return absl::EqualsIgnoreCase(host, "localhost") || host == "[::1]" ||
         (is_v4 && ntohl(address.s_addr) >> 24 == 127);
}

struct Body {
  std::string bytes;
  int64_t most_bytes = 0;
  bool is_too_large = false;
};

size_t append(const char* data, size_t one, size_t count, void* to) {
  auto& body = *static_cast<Body*>(to);
  const size_t size = one * count;
  body.is_too_large = std::ssize(body.bytes) + static_cast<int64_t>(size) > body.most_bytes;
  if (body.is_too_large) return 0;  // ends the transfer
  body.bytes.append(data, size);
  return size;
}

template <typename Value>
void set(CURL* curl, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(curl, option, value);
  TF_CHECK(code == CURLE_OK) << curl_easy_strerror(code);
}

void set_options(CURL* curl, const std::string& url, const HttpOptions& options) {
  const bool is_plain = absl::StartsWithIgnoreCase(url, "http://");
  set(curl, CURLOPT_URL, url.c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, is_plain ? "http" : "https");
  set(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  set(curl, CURLOPT_FOLLOWLOCATION, 1L);
  set(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  set(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(curl, CURLOPT_TIMEOUT, static_cast<long>(options.most_seconds));
  set(curl, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerS);
  set(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stalled_seconds));
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_USERAGENT, "tunefarm");
  if (is_plain) set(curl, CURLOPT_NOPROXY, "*");  // what is meant for this machine stays on it
  if (!options.ca_file.empty()) set(curl, CURLOPT_CAINFO, options.ca_file.c_str());
}

absl::Status failed(const std::string& url, std::string_view reason) {
  return absl::UnavailableError(absl::StrCat("cannot get ", printable(url), ": ", printable(reason)));
}

}  // namespace

absl::Status check_url(const std::string& url) {
  const auto refuse = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat(printable(url), ": ", why));
  };
  const Url parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return refuse("it is not the URL of a web server; give https://HOST/PATH or a folder");
  const std::string scheme = part_of(parsed, CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return refuse("give https://HOST/PATH or a folder");
  if (scheme == "http" && !is_this_machine(part_of(parsed, CURLUPART_HOST)))
    return refuse("plain http is for this machine only; give https://");
  if (!part_of(parsed, CURLUPART_USER).empty()) return refuse("a URL with a user name is refused; omit it");
  if (!part_of(parsed, CURLUPART_QUERY).empty() || !part_of(parsed, CURLUPART_FRAGMENT).empty())
    return refuse("give the URL of the set's folder, without ? and #");
  return absl::OkStatus();
}

absl::StatusOr<std::string> http_get(const std::string& url, int64_t most_bytes, const HttpOptions& options) {
  TF_RETURN_IF_ERROR(check_url(url));
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  TF_CHECK(ready == CURLE_OK) << curl_easy_strerror(ready);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  TF_CHECK(curl != nullptr) << "curl_easy_init";
  Body body{.most_bytes = most_bytes};
  char reason[CURL_ERROR_SIZE] = "";
  set_options(curl.get(), url, options);
  set(curl.get(), CURLOPT_ERRORBUFFER, static_cast<char*>(reason));
  set(curl.get(), CURLOPT_WRITEFUNCTION, append);
  set(curl.get(), CURLOPT_WRITEDATA, &body);
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK && status == 200) return std::move(body.bytes);
  if (status == 404 || status == 410)
    return absl::NotFoundError(absl::StrCat("there is no ", printable(url)));
  if (body.is_too_large && status == 200)
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot get ", printable(url), ": it is larger than the limit of ", most_bytes, " bytes"));
  if (code == CURLE_OK || status >= 400) return failed(url, absl::StrCat("the server answers ", status));
  return failed(url, reason[0] != '\0' ? reason : curl_easy_strerror(code));
}

}  // namespace tf::record_sets
