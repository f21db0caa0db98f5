#include "rpc/access/refusal.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"

namespace tf::rpc {

namespace {

// kJoinAgain as peers of before say it.
constexpr std::string_view kJoinAgainBefore = "join again with a new token";

}  // namespace

absl::Status refused_caller(std::string_view truth, std::string_view remedy) {
  return with_remedy(absl::StatusCode::kUnauthenticated, truth, remedy);
}

absl::Status with_remedy_of_refusal(const absl::Status& received) {
  if (!absl::IsUnauthenticated(received)) return received;
  const std::string message(received.message());
  for (const std::string_view remedy : {kJoinFirst, kJoinAgain, kJoinAgainBefore}) {
    const std::string end = absl::StrCat(": ", std::string(remedy));
    if (message.ends_with(end)) return refused_caller(message.substr(0, message.size() - end.size()), remedy);
  }
  return received;
}

}  // namespace tf::rpc
