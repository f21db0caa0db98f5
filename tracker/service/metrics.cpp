#include "tracker/service/metrics.h"

#include <map>
#include <string>

namespace tf::tracker {

std::vector<rpc::MetricFamily> metrics_of(const FarmCounts& counts) {
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  const std::map<std::string, double> devices(counts.devices.begin(), counts.devices.end());
  return {
      rpc::by_label(
          rpc::gauge(
              "tunefarm_tracker_devices",
              "devices by state: ready, cordoned, draining (or stopping), drained, quarantined or away", 0),
          "state", devices),
      rpc::gauge("tunefarm_tracker_ready_slots", "slots of ready devices, including leased slots",
                 number(counts.ready_slots)),
      rpc::gauge("tunefarm_tracker_leases", "active leases", number(counts.leases)),
      rpc::gauge("tunefarm_tracker_waiting_requests", "acquire requests that are waiting",
                 number(counts.waiting)),
      rpc::gauge("tunefarm_tracker_unanswered_trials",
                 "relayed trials without a reply yet, including running trials",
                 number(counts.unanswered_trials)),
      rpc::counter("tunefarm_tracker_leases_granted_total", "leases granted", number(counts.leases_granted)),
      rpc::counter("tunefarm_tracker_replies_relayed_total", "relayed replies to trials, without duplicates",
                   number(counts.replies_relayed)),
      rpc::histogram("tunefarm_tracker_lease_grant_seconds", "time from an acquire request to its grant",
                     counts.grant_time),
      rpc::histogram("tunefarm_tracker_saving_seconds",
                     "time to write a batch of state changes to disk; each grant waits for it",
                     counts.saving_time)};
}

}  // namespace tf::tracker
