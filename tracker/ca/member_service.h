#pragma once
// Owns: the gRPC face of Members, and what `tracker ca` asks of it. Does not know: how members are kept.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/ca/members.h"
#include "tracker/operators/tracker_link.h"

namespace grpc {
class Service;
}

namespace tf::rpc {
class AuditLog;
class CallPool;
}  // namespace tf::rpc

namespace tf::tracker {

// What it is given must outlive the service. What waits for the disk or signs is done on the pool `calls`,
// and on `joins` for those of whom nobody knows yet: however many there are, they keep no member and no
// operator waiting. (member_service_proto.cpp)
std::unique_ptr<grpc::Service> make_member_service(Members& members, rpc::AuditLog& audit,
                                                   rpc::CallPool& calls, rpc::CallPool& joins);

// The callers' side, for an admin. UNAVAILABLE if no tracker answers there. (member_client_proto.cpp)
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
