#include "device_agent/agent/tracker_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/clock.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kLong = absl::Seconds(1);

}  // namespace

void TrackerSession::say(pb::AgentMessage& message) {
  message.set_clock_ns(absl::ToInt64Nanoseconds(rpc::real_clock().now()));
  write(message);
}

absl::StatusOr<absl::Duration> TrackerSession::age_of(const pb::DesiredState& state) {
  if (state.agent_clock_ns() == 0) return absl::ZeroDuration();
  const absl::Duration age = rpc::real_clock().now() - absl::Nanoseconds(state.agent_clock_ns());
  // The tracker says what our clock showed at the least, so that nothing is from after now.
  if (age < -kLong) {
    return absl::UnavailableError(absl::StrCat("this machine was suspended: its clock stood still for ",
                                               absl::FormatDuration(-age), " while the tracker's advanced"));
  }
  if (age > kLong) {
    pb::AgentMessage still_here;
    still_here.mutable_report();
    say(still_here);
  }
  return std::max(age, absl::ZeroDuration());
}

Desired desired_of(const pb::DesiredSlot& message, absl::Duration age) {
  Desired desired;
  if (!message.has_lease()) return desired;
  desired.lease = LeaseRef{message.lease().lease_id(), message.lease().epoch()};
  desired.user = message.user();
  desired.remaining = absl::Milliseconds(message.remaining_ms()) - age;
  for (const pb::Assignment& assignment : message.window()) {
    desired.window.push_back({assignment.sequence(), assignment.trial().SerializeAsString()});
  }
  desired.acknowledged.assign(message.acknowledged().begin(), message.acknowledged().end());
  return desired;
}

}  // namespace tf::agent
