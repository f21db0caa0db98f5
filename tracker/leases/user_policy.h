#pragma once
// Owns: what each user may have of the farm: a share beside others, and quotas. Plain data. Does not know:
// what users hold.

#include <cstdint>
#include <map>
#include <string>

#include "tracker/leases/rank.h"

namespace tf::tracker {

struct UserPolicy {
  double share = 1;             // of slots, relative to other users that wait; above 0
  uint32_t max_slots = 0;       // held at once; 0: no limit
  uint32_t max_waiting = 1000;  // requests waiting at once; 0: no limit
  // Different things that they ask for: each is compared with all devices of its key. 0: no limit.
  uint32_t max_demands = 64;
  int highest_priority = kHighestPriority;  // a request that asks for more has this
};

struct UserPolicies {
  UserPolicy everyone;  // not named in `users`
  std::map<std::string, UserPolicy> users;

  const UserPolicy& of(const std::string& user) const {
    const auto found = users.find(user);
    return found == users.end() ? everyone : found->second;
  }
};

// The member that holds a lease: the text before the first ':' of its holder. A request that names no other
// user (AcquireLeaseRequest.on_behalf_of) counts against this member's share and quota.
inline std::string user_of(const std::string& holder) {
  return holder.substr(0, holder.find(':'));
}

}  // namespace tf::tracker
