#pragma once
// Owns: trials on several alike devices whose times compare: it has each device time gauges now and then, and
// divides the times of its trials by its factor (device_scale.h). Does not know: leases, which device is
// free.

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "proto/farm/v1/trial.pb.h"
#include "tuner/measure/device_scale.h"
#include "tuner/measure/runner.h"

namespace tf::measure {

// Thread-safe.
class ScaledTrials {
 public:
  // Runs the trial on the runner's device, which has this name, after a gauge if one is due. All samples are
  // as a device of factor 1 would have told them, and so is the incumbent's time in the request. With
  // `has_others`, other devices measure at the same time. Trials of one bench on one device are all scaled by
  // the factor that was known when it began. Errors: the runner's.
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(Runner& runner, const std::string& device,
                                                      bool has_others, const MeasureRequest& request);

  // Whether the device's pace is known, and whether there is anything to tell it by.
  bool knows(const std::string& device) const;
  bool has_gauges() const;

 private:
  // A kernel that every device times now and then.
  struct Gauge {
    ArtifactBytes candidate, reference;
    tunefarm::farm::v1::Trial trial;
  };

  // Whether another may be due at once.
  bool time_gauge(Runner& runner, const std::string& device, bool has_others);
  // The factor for one more trial.
  double factor_for(const std::string& device, uint64_t bench);
  bool is_frozen(const std::string& device, uint64_t bench) const;
  void tell_untimed(const std::string& device, const std::string& why);
  void keep_gauge(const std::string& device, const MeasureRequest& request,
                  const tunefarm::farm::v1::TrialResult& result);

  mutable std::mutex mutex_;
  DeviceScale scale_;
  std::map<std::string, Gauge> gauges_;  // by the digests of their references, which name tasks
  std::set<std::string> timing_;         // devices that time a gauge now
  std::set<std::string> untimed_;        // devices of which the log says that they cannot
  // The factors of benches that go on, lest one steps amid trials that are compared closely.
  struct Frozen {
    std::string device;
    double factor = 1;
  };
  std::map<uint64_t, Frozen> frozen_;
};

}  // namespace tf::measure
