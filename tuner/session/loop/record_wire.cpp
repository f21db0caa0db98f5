#include "tuner/session/loop/record_wire.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/unix_time.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;

// What a compiler or a device says of a failure is for people.
constexpr size_t kMaxDetailBytes = 1 << 16;

database::Measurement start_of(database::Measurement subject) {
  subject.semantics_version = schedule::kSemanticsVersion;
  return subject;
}

database::Outcome outcome_of(farm::Outcome outcome) {
  switch (outcome) {
    case farm::OUTCOME_OK:
      return database::Outcome::kOk;
    case farm::OUTCOME_STOPPED_EARLY:
      return database::Outcome::kStoppedEarly;
    case farm::OUTCOME_COMPILE_ERROR:
      return database::Outcome::kCompileError;
    case farm::OUTCOME_WRONG_OUTPUT:
      return database::Outcome::kWrongOutput;
    case farm::OUTCOME_CRASHED:
      return database::Outcome::kCrashed;
    case farm::OUTCOME_TIMED_OUT:
      return database::Outcome::kTimedOut;
    case farm::OUTCOME_OUT_OF_MEMORY:
      return database::Outcome::kOutOfMemory;
    case farm::OUTCOME_IMPLAUSIBLE:
    default:
      // A device that sends no known outcome cannot be believed.
      return database::Outcome::kImplausible;
  }
}

// What is kept of a measurement that cannot be what its device says: that, and whose it was.
database::Measurement implausible(const database::Measurement& subject, const database::Measurement& said,
                                  const absl::Status& why) {
  database::Measurement record = start_of(subject);
  record.outcome = database::Outcome::kImplausible;
  record.detail = absl::StrCat("the device sent an invalid measurement: ", std::string(why.message()));
  record.numerics = said.numerics;
  record.code_digest = said.code_digest;
  record.lease = said.lease;
  record.finished_unix_ns = now_unix_ns();
  if (!check(record).ok()) record.lease.reset();
  return record;
}

}  // namespace

database::DeviceState device_of(const farm::DeviceState& state, const std::string& device_class) {
  return {.device_class = device_class,
          .fingerprint = state.fingerprint(),
          .model = state.model(),
          .clock_mhz = state.clock_mhz(),
          .temperature_c = state.temperature_c(),
          .throttled = state.throttled(),
          .governor = state.governor(),
          .load_1min = state.load_1min()};
}

database::Measurement record_of(const database::Measurement& subject,
                                const tunefarm::kernel::v1::BuildReply& failed) {
  database::Measurement record = start_of(subject);
  record.outcome = database::Outcome::kCompileError;
  record.detail = failed.message().substr(0, kMaxDetailBytes);
  record.finished_unix_ns = now_unix_ns();
  return record;
}

database::Measurement record_of(const database::Measurement& subject,
                                const tunefarm::kernel::v1::BuildReply& built,
                                const farm::TrialResult& result) {
  database::Measurement record = start_of(subject);
  const auto& numerics = built.artifact().manifest().numerics();
  record.numerics.assign(numerics.begin(), numerics.end());
  record.outcome = outcome_of(result.outcome());
  record.detail = result.detail().substr(0, kMaxDetailBytes);
  for (const farm::Sample& sample : result.samples())
    record.samples.push_back({sample.total_ns(), sample.iterations()});
  record.cache_mode = result.cache_mode() == farm::CACHE_MODE_ROTATE ? database::CacheMode::kRotate
                      : result.cache_mode() == farm::CACHE_MODE_WARM ? database::CacheMode::kWarm
                                                                     : database::CacheMode::kUnknown;
  record.max_error = result.max_error();
  record.device = device_of(result.device(), subject.device.device_class);
  record.artifact_digest = result.artifact_digest();
  record.code_digest = built.code_digest();
  if (!result.lease_id().empty()) {
    record.lease = database::LeaseStamp{result.slot(), result.lease_id(), result.epoch(), result.sequence()};
  }
  // By the tuner's clock, as all of a database: the order of its measurements counts, and devices may have
  // none that tells the day.
  record.finished_unix_ns = now_unix_ns();
  const absl::Status possible = check(record);
  return possible.ok() ? record : implausible(subject, record, possible);
}

std::optional<model::CodeFacts> code_of(const tunefarm::kernel::v1::BuildReply& built) {
  std::optional<model::CodeFacts> code;
  for (const auto& launch : built.artifact().manifest().launches()) {
    if (!launch.has_resources()) continue;
    if (!code) code.emplace();
    const auto& of = launch.resources();
    code->registers_per_thread = std::max<double>(code->registers_per_thread, of.registers_per_thread());
    code->spill_bytes = std::max<double>(code->spill_bytes, of.spill_bytes());
  }
  return code;
}

database::Attempt attempt_of(const database::Measurement& subject, const std::string& artifact_digest,
                             const absl::Status& why) {
  return {.problem = subject.problem,
          .schedule = subject.schedule,
          .artifact_digest = artifact_digest,
          .status_code = absl::StatusCodeToString(why.code()),
          .detail = std::string(why.message()),
          .job_id = subject.job_id,
          .time_unix_ns = now_unix_ns()};
}

}  // namespace tf::session
