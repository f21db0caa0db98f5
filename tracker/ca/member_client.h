#pragma once
// Owns: what `tracker ca` asks of a running tracker. Does not know: its options.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/ca/members.h"
#include "tracker/operators/tracker_link.h"

namespace tf::tracker {

// All are for an admin. UNAVAILABLE if no tracker answers there.
struct IssuedToken {
  std::string text;
  std::string id;
  absl::Duration life;
  std::vector<std::string> tracker_hosts;  // of its hosts those that are the tracker's, too
};
absl::StatusOr<IssuedToken> request_token(const TrackerLink& link, const TokenOptions& options);
absl::Status revoke_token(const TrackerLink& link, const std::string& id);
// The serials that were good until now.
absl::StatusOr<std::vector<std::string>> revoke_member(const TrackerLink& link, const std::string& name);
enum class MembersFormat { kTable, kJson };
// The tokens that can still be used; empty in a table: there is none.
absl::StatusOr<std::string> render_tokens(const TrackerLink& link, MembersFormat format, size_t width = 0);
absl::StatusOr<std::string> render_members(const TrackerLink& link, MembersFormat format, size_t width = 0);

}  // namespace tf::tracker
