#include "rpc/doctor/doctor.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "rpc/connection/unreachable.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kClockTolerance = absl::Seconds(2);

std::string date(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

absl::StatusOr<std::string> listen_finding(const Endpoint& listen, std::string_view option, bool secured) {
  if (!secured) TF_RETURN_IF_ERROR(require_loopback(listen, option));
  TF_RETURN_IF_ERROR(check_bindable(listen, "--listen"));
  return absl::StrCat(listen.text(), " is free");
}

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

Check examine_certificate(const absl::StatusOr<std::shared_ptr<Credentials>>& credentials,
                          const WantedMember& wanted, absl::Time now) {
  if (!credentials.ok()) return check_of("certificate", credentials.status(), how_to_join(wanted.role));
  const Certificate certificate = (*credentials)->certificate();
  const Identity& member = (*credentials)->identity();
  Check check{.what = "certificate",
              .detail = absl::StrCat("of ", member.text(), ", until ", date(certificate.not_after()))};
  if (member.role != wanted.role) {
    check.health = wanted.otherwise;
    check.remedy = absl::StrCat(wanted.why, ": ", how_to_join(wanted.role));
  } else if (now >= certificate.renew_at()) {
    check.health = Health::kWeak;
    check.remedy = absl::StrCat("its renewal was due at ", date(certificate.renew_at()),
                                ": make the tracker reachable before it expires, or run `",
                                std::string(joining_program(wanted.role)), " join` again");
  }
  return check;
}

Check examine_clock(absl::Duration ahead) {
  Check check{.what = "clock",
              .detail = absl::StrCat(
                  "differs from the tracker's by ",
                  absl::FormatDuration(absl::AbsDuration(absl::Trunc(ahead, absl::Milliseconds(1)))))};
  if (absl::AbsDuration(ahead) <= kClockTolerance) return check;
  check.health = Health::kWeak;
  check.remedy = "result times and certificates need equal clocks: enable NTP (timedatectl)";
  return check;
}

Check examine_listen(const Endpoint& listen, std::string_view option, bool secured) {
  const absl::StatusOr<std::string> found = listen_finding(listen, option, secured);
  const std::string another =
      absl::StrCat("choose another HOST:PORT of this machine for ", std::string(option));
  if (!absl::IsAlreadyExists(found.status())) return check_of("listen", found, another);
  return {.what = "listen",
          .health = Health::kWeak,
          .detail = absl::StrCat(listen.text(), " is in use"),
          .remedy = absl::StrCat("unless by the program that you are checking, ", another)};
}

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
