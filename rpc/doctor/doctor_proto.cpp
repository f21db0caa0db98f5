// What the tracker says of itself.
#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/doctor/doctor.h"
#include "rpc/grpc_status.h"
#include "rpc/protocol.h"
#include "rpc/unreachable.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(3);
// For a call to say why there is no connection: gRPC knows by then, or will not soon.
constexpr absl::Duration kWhyTimeout = absl::Seconds(1);

struct Answer {
  pb::Description description;
  absl::Duration ahead;  // the tracker's clock before ours
  absl::Duration took;
};

absl::StatusOr<Answer> ask(const Endpoint& tracker, const std::shared_ptr<Credentials>& credentials) {
  TF_RETURN_IF_ERROR(require_protection(tracker, "--tracker", credentials));
  const bool secured = credentials != nullptr;
  const auto channel = make_channel(tracker, credentials, Role::kTracker);
  const bool connected = wait_until_connected(*channel, kAnswerTimeout);
  grpc::ClientContext context;
  set_deadline(context, connected ? kAnswerTimeout : kWhyTimeout);
  Answer answer;
  const absl::Time sent = absl::Now();
  const grpc::Status status =
      pb::Agents::NewStub(channel)->Describe(&context, pb::DescribeRequest(), &answer.description);
  const bool unavailable = status.error_code() == grpc::StatusCode::UNAVAILABLE;
  if (!connected && (unavailable || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED))
    return unreachable("tracker", tracker, secured, unavailable ? status.error_message() : "");
  TF_RETURN_IF_ERROR(from_grpc(status, "tracker", tracker, secured));
  answer.took = absl::Now() - sent;
  answer.ahead = absl::FromUnixNanos(answer.description.unix_time_ns()) - (sent + answer.took / 2);
  return answer;
}

}  // namespace

std::vector<Check> examine_tracker(const absl::StatusOr<Endpoint>& tracker,
                                   const std::shared_ptr<Credentials>& credentials, std::string_view us) {
  const absl::StatusOr<Answer> answer = tracker.ok() ? ask(*tracker, credentials) : tracker.status();
  if (!answer.ok()) return {check_of("tracker", answer.status(), "check --tracker, and --tls on both sides")};
  const absl::Status version = check_protocol("the tracker", answer->description.protocol_version(), us);
  const std::string ours = absl::StrCat("version ", kProtocolVersion, " on both sides");
  return {{.what = "tracker",
           .detail = absl::StrFormat("responds at %s in %.1f ms", tracker->text(),
                                     absl::ToDoubleMilliseconds(answer->took))},
          check_of("protocol", version.ok() ? absl::StatusOr<std::string>(ours) : version,
                   "upgrade the older of the two"),
          examine_clock(answer->ahead)};
}

}  // namespace tf::rpc
