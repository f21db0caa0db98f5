#include "tracker/leases/reservations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tracker/leases/names.h"

namespace tf::tracker {

absl::Status ReservationBook::check_names(const std::string& user, const std::string& device_key,
                                          const std::string& selector) {
  if (user.empty()) return absl::InvalidArgumentError("a reservation needs a user: give --user");
  TF_RETURN_IF_ERROR(check_holder_name("the user", user));
  if (!device_key.empty()) TF_RETURN_IF_ERROR(check_key("the device key", device_key));
  if (selector.size() <= kMostRequirementsBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a selector of ", selector.size(), " bytes: ask for at most ", kMostRequirementsBytes));
}

absl::Status ReservationBook::check_window(absl::Time from, absl::Time until, absl::Time now) {
  if (until <= from) return absl::InvalidArgumentError("the reservation's window is empty: give a later end");
  if (until <= now)
    return absl::InvalidArgumentError("the reservation's window is in the past: give a later end");
  if (until - from > kLongestReservation) {
    return absl::InvalidArgumentError(absl::StrCat("the reservation's window is longer than ",
                                                   kLongestReservation / absl::Hours(24),
                                                   " days: give a shorter --for"));
  }
  return absl::OkStatus();
}

void ReservationBook::add(Reservation reservation) {
  last_id_ = std::max(last_id_, reservation.id);
  reservations_[reservation.id] = std::move(reservation);
}

bool ReservationBook::remove(uint64_t id) {
  return reservations_.erase(id) > 0;
}

std::vector<Reservation> ReservationBook::remove_over(rpc::Instant now) {
  std::vector<Reservation> over;
  for (auto each = reservations_.begin(); each != reservations_.end();) {
    if (now < each->second.until) {
      ++each;
      continue;
    }
    over.push_back(std::move(each->second));
    each = reservations_.erase(each);
  }
  return over;
}

std::string ReservationBook::user_for(const DeviceInfo& device, rpc::Instant now) const {
  for (const auto& [id, reservation] : reservations_) {
    if (reservation.in_force(now) && reservation.covers(device)) return reservation.user;
  }
  return "";
}

std::optional<rpc::Instant> ReservationBook::next_change(rpc::Instant now) const {
  std::optional<rpc::Instant> next;
  for (const auto& [id, reservation] : reservations_) {
    for (const rpc::Instant at : {reservation.from, reservation.until}) {
      if (at > now) next = std::min(next.value_or(at), at);
    }
  }
  return next;
}

}  // namespace tf::tracker
