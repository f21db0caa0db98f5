// What needs no tracker.
#include "rpc/doctor/doctor.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/server.h"

namespace tf::rpc {
namespace {

constexpr absl::Duration kClockTolerance = absl::Seconds(2);

std::string date(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

absl::StatusOr<std::string> listen_finding(const Endpoint& listen, std::string_view option, bool secured) {
  if (!secured) TF_RETURN_IF_ERROR(require_loopback(listen, option));
  TF_RETURN_IF_ERROR(check_bindable(listen, "--listen"));
  return absl::StrCat(listen.text(), " is free");
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

}  // namespace tf::rpc
