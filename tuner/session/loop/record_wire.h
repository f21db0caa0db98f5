#pragma once
// Owns: turning what builders and runners say (proto messages) into what the database keeps.

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "database/record.h"
#include "tuner/model/learned/features.h"

namespace tunefarm::kernel::v1 {
class BuildReply;
}
namespace tunefarm::farm::v1 {
class DeviceState;
class TrialResult;
}  // namespace tunefarm::farm::v1

namespace tf::session {

database::DeviceState device_of(const tunefarm::farm::v1::DeviceState& state,
                                const std::string& device_class);

// In the following, `subject` is what is known of a measurement before it runs: problem, schedule, sketch, choices, device
// class, job, whether it is untuned.

// A candidate that did not compile.
database::Measurement record_of(const database::Measurement& subject,
                                const tunefarm::kernel::v1::BuildReply& failed);

// A candidate that ran, however it ended. `built` is its build's reply. What cannot be measured, such as
// samples of negative time, becomes the outcome implausible.
database::Measurement record_of(const database::Measurement& subject,
                                const tunefarm::kernel::v1::BuildReply& built,
                                const tunefarm::farm::v1::TrialResult& result);

// What its compiler told of its launches, if it told anything.
std::optional<model::CodeFacts> code_of(const tunefarm::kernel::v1::BuildReply& built);

// A try that gave no measurement.
database::Attempt attempt_of(const database::Measurement& subject, const std::string& artifact_digest,
                             const absl::Status& why);

}  // namespace tf::session
