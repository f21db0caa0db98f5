#include "rpc/identity/join_token.h"

#include <openssl/rand.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/identity/key_pair.h"

namespace tf::rpc {
namespace {

constexpr std::string_view kPrefix = "tfj-";
constexpr size_t kDigits = 64;

}  // namespace

absl::StatusOr<JoinToken> JoinToken::make(const Digest& ca) {
  Digest random;
  if (RAND_bytes(random.bytes.data(), static_cast<int>(random.bytes.size())) != 1) {
    return absl::InternalError(absl::StrCat("no random numbers: ", openssl_reason()));
  }
  return JoinToken{.secret = random.hex(), .ca = ca};
}

absl::StatusOr<JoinToken> JoinToken::parse(std::string_view text) {
  const bool shaped = text.size() == kPrefix.size() + kDigits + 1 + kDigits && text.starts_with(kPrefix) &&
                      text[kPrefix.size() + kDigits] == '-';
  const std::string_view secret = shaped ? text.substr(kPrefix.size(), kDigits) : "";
  const absl::StatusOr<Digest> ca = Digest::from_hex(shaped ? text.substr(text.size() - kDigits) : "");
  if (shaped && ca.ok() && Digest::from_hex(secret).ok()) {
    return JoinToken{.secret = std::string(secret), .ca = *ca};
  }
  return absl::InvalidArgumentError("not a join token: give the whole text that `tracker ca token` printed");
}

std::string JoinToken::text() const {
  return absl::StrCat(std::string(kPrefix), secret, "-", ca.hex());
}

}  // namespace tf::rpc
