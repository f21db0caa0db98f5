#pragma once
// Owns: what the network's own trial asks the database, and what it leaves there: of each kernel, how the
// tuned schedule stands beside the untuned one inside the network. Does not know: how either was run.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/race.h"
#include "compiler/driver/build_model.h"
#include "database/store.h"
#include "tuner/session/network_trial.h"

namespace tf::session {

// Of one kernel, the records of the tuned build's schedule and of the untuned one.
struct Rivals {
  database::Measurement tuned, untuned;
};

// What a kernel took inside one build of the network.
struct KernelTimes {
  std::vector<double> visits_ns;  // all of its calls together, a visit an entry
  uint32_t calls = 0;             // in one run of that build
};

// Of one call's times, visit by visit: with other layouts, a build may call the same kernel more or less
// often.
Estimate ratio_of_calls(const KernelTimes& times, const KernelTimes& others);

// Its arguments outlive it. All errors are the store's.
class NetworkRecords {
 public:
  NetworkRecords(database::Store& store, const NetworkTrialOptions& options, database::DeviceState here)
      : store_(store), options_(options), here_(std::move(here)) {}

  database::Store& store() const { return store_; }
  database::BestQuery query_of(const database::Problem& problem) const;

  absl::StatusOr<database::Measurement> record_of(const driver::ScheduleChoice& choice) const;

  // Of the schedule that was last called untuned, at another reuse distance if that problem has none; nothing
  // if none was ever measured.
  absl::StatusOr<std::optional<database::Measurement>> untuned_of(const database::Problem& problem) const;

  // How they stood in the same visits.
  absl::Status record(const Rivals& rivals, const KernelTimes& tuned, const KernelTimes& untuned,
                      const database::DeviceState& device) const;

  // That the network crashed or hung, and did not without that schedule. Unlike times from inside of a
  // network it counts for every build.
  absl::Status record_failure(const driver::ScheduleChoice& choice, const absl::Status& why,
                              const database::DeviceState& device) const;

  // Whether a machine like this one measured it in a session of this database, by what the row says: its
  // answer was checked in a sandbox then, and its time is one of such machines. A copied or forged database
  // says so, too: who is not to be trusted with running code should not be with writing the database.
  bool is_from_here(const database::Measurement& record) const;

  // Whether it met the untuned schedule inside the network and was not surely faster.
  absl::StatusOr<bool> has_lost(const database::Measurement& record) const;

 private:
  absl::StatusOr<std::optional<database::Measurement>> in_network(const database::Measurement& of) const;

  database::Store& store_;
  const NetworkTrialOptions& options_;
  const database::DeviceState here_;
};

// Either the fastest by their own times, sure or not, that have not lost inside the network, or what a build
// takes: of both, only what is from here.
class NetworkSource final : public driver::ScheduleSource {
 public:
  enum class Which { kFastest, kBest };
  NetworkSource(const NetworkRecords& records, Which which) : records_(records), which_(which) {}
  absl::StatusOr<std::optional<driver::ScheduleChoice>> find(const driver::ScheduleQuery& query) override;

 private:
  const NetworkRecords& records_;
  const Which which_;
};

}  // namespace tf::session
