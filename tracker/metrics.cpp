#include "tracker/metrics.h"

#include <map>
#include <string>

namespace tf::tracker {

std::vector<rpc::MetricFamily> metrics_of(const FarmCounts& counts) {
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  const std::map<std::string, double> devices(counts.devices.begin(), counts.devices.end());
  return {
      rpc::by_label(
          rpc::gauge("tunefarm_tracker_devices",
                     "devices, by state: ready, cordoned, draining (or stopping), drained (no lease "
                     "is left), quarantined or away",
                     0),
          "state", devices),
      rpc::gauge("tunefarm_tracker_ready_slots",
                 "slots of devices that may be leased, leased ones among them", number(counts.ready_slots)),
      rpc::gauge("tunefarm_tracker_leases", "leases in force", number(counts.leases)),
      rpc::gauge("tunefarm_tracker_waiting_requests", "requests for a lease that wait",
                 number(counts.waiting)),
      rpc::gauge("tunefarm_tracker_unanswered_trials",
                 "trials on their way through the tracker, running ones among them",
                 number(counts.unanswered_trials)),
      rpc::counter("tunefarm_tracker_leases_granted_total", "leases granted", number(counts.leases_granted)),
      rpc::counter("tunefarm_tracker_replies_relayed_total",
                   "answers to trials that came through the tracker, each counted once",
                   number(counts.replies_relayed)),
      rpc::histogram("tunefarm_tracker_lease_grant_seconds", "from the request for a lease to its grant",
                     counts.grant_time),
      rpc::histogram(
          "tunefarm_tracker_saving_seconds",
          "from the writing of what came up together until it is on the disk; each grant waits for it",
          counts.saving_time)};
}

}  // namespace tf::tracker
