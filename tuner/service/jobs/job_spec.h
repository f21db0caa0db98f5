#pragma once
// Owns: what a tuning job was asked to do, and its JSON form, which the database keeps. Does not know: how a
// job runs, or who asked.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/frontends/network_request.h"
#include "proto/tune/v1/tune.pb.h"

namespace tf::service {

// Slots of one job: each takes threads and memory of the tuner.
inline constexpr int kMostSlots = 128;

// The message is the value.
using tunefarm::tune::v1::JobSpec;

// What a command line leaves open: this machine's target, one thread, seed 1, the evolutionary search.
JobSpec default_spec();

// Of an embedded run, without a farm, the class under which this machine's measurements are kept.
std::string device_class_of(const JobSpec& spec);

// Sizes and inputs of its network, as the command line gives them.
frontends::NetworkRequest network_request(const JobSpec& spec);
void set_network_request(const frontends::NetworkRequest& request, JobSpec& spec);

// Protobuf's mapping, with all fields under their own names.
std::string to_json(const JobSpec& spec);
// INVALID_ARGUMENT for what to_json cannot have written.
absl::StatusOr<JobSpec> job_spec_from_json(const std::string& text);

// How many slots it may have at once.
int most_slots(const JobSpec& spec);

// INVALID_ARGUMENT, with the option's name, for a thread count below 1, more slots than there may be, a negative budget, no budget at all,
// a numerics name that does not exist, or sizes that cannot be.
absl::Status check(const JobSpec& spec);

}  // namespace tf::service
