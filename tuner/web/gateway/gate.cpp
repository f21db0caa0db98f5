#include "tuner/web/gateway/gate.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"

namespace tf::web {
namespace {

constexpr std::string_view kScheme = "bearer ";
constexpr const char* kGiveToken = "make one with `tuner token` and send it as `Authorization: Bearer tft-…`";

absl::Status no_token(const char* truth) {
  return with_remedy(absl::StatusCode::kUnauthenticated, truth, kGiveToken);
}

}  // namespace

absl::StatusOr<WebCaller> Gate::identify(const RequestHead& head) {
  if (!tokens_) return WebCaller{};
  // A good token is heard whatever comes from its address: others may share that, behind a proxy.
  const auto refused = [&](absl::Status why) {
    if (failures_.take(head.address) == absl::ZeroDuration()) return why;
    return absl::ResourceExhaustedError(
        "too many calls without a good token came from this address: wait a while");
  };
  const std::string field(head.field("authorization"));
  if (field.empty()) return refused(no_token("this tuner needs a token"));
  if (!absl::StartsWithIgnoreCase(field, absl::string_view(kScheme.data(), kScheme.size())))
    return refused(no_token("the field Authorization is not of the scheme Bearer"));
  absl::StatusOr<rpc::BearerToken> token = tokens_->find(field.substr(kScheme.size()));
  if (!token.ok()) return refused(token.status());
  return WebCaller{.token = *std::move(token)};
}

absl::Status Gate::admit(const WebCaller& caller, std::string_view method) const {
  return guard_ ? guard_->admit(method, caller.token->identity) : absl::OkStatus();
}

void Gate::note_refusal(std::string_view method, const absl::Status& why) const {
  if (guard_) guard_->note_refusal(method, why);
}

bool Gate::is_good(const WebCaller& caller) const {
  return !tokens_ || tokens_->is_good(*caller.token);
}

absl::Duration Gate::wait(const WebCaller& caller, const RequestHead& head) {
  return calls_.take(caller.token ? absl::StrCat("token ", caller.token->id()) : head.address);
}

}  // namespace tf::web
