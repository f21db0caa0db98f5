#pragma once
// Owns: the refusal of a caller whose certificate is missing or good no more, at both ends of the call. Of a
// call that is refused before a handler hears of it gRPC sends a code and a message, and none of a status's
// details: what the caller is to do is one of a few texts, by which its end tells it from what is true. Does
// not know: who is refused (call_guard.h).

#include <string_view>

#include "absl/status/status.h"

namespace tf::rpc {

// What such a caller can do. Peers of other versions say and know these texts, too: where one is changed, the
// old one stays known (refusal.cpp).
inline constexpr std::string_view kJoinFirst = "join the farm and give --tls";
inline constexpr std::string_view kJoinAgain = "join again with a new token into another folder";

// UNAUTHENTICATED, "TRUTH: REMEDY", with one of those.
absl::Status refused_caller(std::string_view truth, std::string_view remedy);

// What was received, with its remedy (base/remedy.h) if it is such a refusal. Its message stays as it is.
absl::Status with_remedy_of_refusal(const absl::Status& received);

}  // namespace tf::rpc
