#pragma once
// Owns: what a tuning job was asked to do, and its JSON form, which the database keeps. Does not know: how a
// job runs, or who asked.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::service {

// Slots of one job: each takes threads and memory of the tuner.
inline constexpr int kMostSlots = 128;

struct JobSpec {
  std::string model_name;  // for people
  std::string target = "host";
  std::string device_key;  // of the farm; empty: this machine, without a farm
  std::string selector;    // of devices with this key, by their labels, as in "room=lab3,!shared"; empty: any
  int priority = 0;        // -10 to 10: the higher is served first, here and by the tracker
  int slots = 0;           // of the farm, that it may have at once; 0: kMostSlots
  int threads = 1;         // of each measured kernel
  int64_t trials = 0;      // 0: no limit
  double minutes = 0;      // 0: no limit
  // Ends once the next minute is expected to save less of the network's time; 0: no limit.
  double until_gain_percent = 0;
  std::vector<std::string> allowed_numerics;
  std::map<std::string, int64_t> dims;  // values of the model's named dimensions
  uint64_t seed = 1;
  std::string strategy = "evolutionary";
  // Under which this machine's measurements are kept; those of a farm's devices have their key.
  std::string device_class = "local";
  bool operator==(const JobSpec&) const = default;
};

std::string to_json(const JobSpec& spec);
// INVALID_ARGUMENT for what to_json cannot have written; absent fields keep their defaults.
absl::StatusOr<JobSpec> job_spec_from_json(const std::string& text);

// How many slots it may have at once.
int most_slots(const JobSpec& spec);

// INVALID_ARGUMENT, with the option's name, for a thread count below 1, more slots than there may be, a negative budget, no budget at all,
// or a numerics name that does not exist.
absl::Status check(const JobSpec& spec);

// "batch=4,sequence=128" or repeated "NAME=N".
absl::Status parse_dim(const std::string& text, std::map<std::string, int64_t>& dims);

}  // namespace tf::service
