#include "tuner/session/calibrate/calibration.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "compiler/driver/wire.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/session/loop/pipeline.h"
#include "tuner/session/loop/record_wire.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

using Clock = std::chrono::steady_clock;

// Data lies where the run before left it: that is what tells the levels apart.
farm::Trial warm_trial() {
  farm::Trial trial;
  trial.set_input_seed(1);
  trial.set_threads(1);
  farm::MeasureOptions& measure = *trial.mutable_options();
  const Sampling sampling = sampling_of(Priority::kInFull);
  measure.set_samples(sampling.samples);
  measure.set_min_sample_ns(sampling.min_sample_ns);
  measure.set_enough_ns(sampling.enough_ns);
  measure.set_warmup_ns(sampling.warmup_ns);
  measure.set_cache_mode(farm::CACHE_MODE_WARM);
  trial.mutable_limits()->set_run_timeout_ns(5'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

bool is_reading(const database::Measurement& record) {
  return record.outcome == database::Outcome::kOk && record.cache_mode == database::CacheMode::kWarm;
}

// By its shortest sample: others on the machine only ever add to a time.
double rate_by(const database::Measurement& record, double amount) {
  const std::vector<double> runs_ns = database::runs_ns(record.samples);
  const double least_ns = runs_ns.empty() ? 0 : *std::ranges::min_element(runs_ns);
  return is_reading(record) && least_ns > 0 ? amount / least_ns * 1e9 : 0;
}

// What reads nothing says nothing wrong.
bool is_possible(const database::Measurement& record, double amount) {
  return !is_reading(record) || database::is_rate(rate_by(record, amount));
}

// Of that very kind of machine, as fast as it is; what does not compile is of all.
bool is_of(const database::Measurement& record, const MachineKind& machine) {
  if (record.outcome == database::Outcome::kCompileError) return true;
  return record.device.fingerprint == machine.fingerprint && !record.device.throttled;
}

// Of what a session cannot go on after either; that a device refuses these trials is its own business.
bool is_the_end(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status);
}

// Measures them, one at a time.
class Measurer {
 public:
  Measurer(const CalibrationOptions& options, measure::Runner& runner, database::Store& store,
           Clock::time_point deadline)
      : options_(options), runner_(runner), store_(store), deadline_(deadline) {}

  // The record that was made, unless nothing came of it; then there is no point in trying others. Nobody
  // looks at the answers, which no build uses, so that there is no reference to wait for.
  absl::StatusOr<std::optional<database::Measurement>> measure(
      const CalibrationKernel& kernel, const absl::StatusOr<kernel::BuildReply>& built) {
    TF_RETURN_IF_ERROR(store_.add_workload({.text = tensor::canonical_text(kernel.task.kernel.workload),
                                            .op = kernel.task.label,
                                            .flops = kernel.amount}));
    database::Measurement subject;
    subject.problem = tensor::key_for(kernel.task.kernel, options_.machine.target, 1);
    subject.schedule = kernel.schedule;
    subject.device.device_class = options_.machine.device_class;
    if (!built.ok()) return std::nullopt;
    if (built->code() != 0) return keep(record_of(subject, *built), kernel);
    const measure::ArtifactBytes artifact =
        measure::make_artifact_bytes(built->artifact().SerializeAsString());
    const farm::Trial trial = warm_trial();
    for (int tries = 0; tries < kMaxTries && Clock::now() < deadline_; ++tries) {
      const absl::StatusOr<farm::TrialResult> result = runner_.run({artifact, {}, &trial});
      if (!result.ok()) {
        if (measure::may_retry(result.status())) continue;
        if (is_the_end(result.status())) return result.status();
        return std::nullopt;
      }
      absl::StatusOr<std::optional<database::Measurement>> kept =
          keep(record_of(subject, *built, *result), kernel);
      runner_.acknowledge(*result);
      if (!absl::IsAborted(kept.status())) return kept;  // else its lease is fenced off
    }
    return std::nullopt;
  }

 private:
  absl::StatusOr<std::optional<database::Measurement>> keep(database::Measurement record,
                                                            const CalibrationKernel& kernel) {
    if (!is_of(record, options_.machine)) return std::nullopt;
    if (!is_possible(record, kernel.amount)) {
      record.outcome = database::Outcome::kImplausible;
      record.detail = "the device reports impossible times of a calibration kernel";
    }
    TF_RETURN_IF_ERROR(store_.insert(record).status());
    return record;
  }

  const CalibrationOptions& options_;
  measure::Runner& runner_;
  database::Store& store_;
  const Clock::time_point deadline_;
};

}  // namespace

absl::StatusOr<CalibrationRecords> CalibrationRecords::read(database::Records& records) {
  CalibrationRecords found;
  for (const Digest& workload : calibration_workloads()) {
    TF_RETURN_IF_ERROR(records.scan({.workload = workload}, [&](const database::Measurement& record) {
      found.records_.push_back(record);
      return absl::OkStatus();
    }));
  }
  return found;
}

const database::Measurement* CalibrationRecords::find(const CalibrationKernel& kernel,
                                                      const MachineKind& machine) const {
  const tensor::KernelKey problem = tensor::key_for(kernel.task.kernel, machine.target, 1);
  const auto record = std::ranges::find_if(records_, [&](const database::Measurement& each) {
    return each.problem == problem && each.schedule == kernel.schedule &&
           each.semantics_version == static_cast<uint32_t>(schedule::kSemanticsVersion) &&
           each.device.device_class == machine.device_class && is_of(each, machine) &&
           is_possible(each, kernel.amount);
  });
  return record == records_.end() ? nullptr : &*record;
}

model::MeasuredRates CalibrationRecords::rates_of(const MachineKind& machine) const {
  model::MeasuredRates rates;
  if (records_.empty()) return rates;
  for (const CalibrationKernel& kernel : calibration_kernels_of(machine.target))
    if (const database::Measurement* record = find(kernel, machine))
      rates.*kernel.rate = rate_by(*record, kernel.amount);
  return rates;
}

struct Calibration::Build {
  CalibrationKernel kernel;
  std::future<absl::StatusOr<kernel::BuildReply>> reply;

  bool is_under_way() const {
    return reply.valid() && reply.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }

  bool is_there_before(Clock::time_point deadline, const std::atomic<bool>& stop) const {
    constexpr auto kLook = std::chrono::milliseconds(50);
    while (reply.wait_until(std::min(Clock::now() + kLook, deadline)) != std::future_status::ready)
      if (stop || Clock::now() >= deadline) return false;
    return true;
  }
};

Calibration::Calibration(CalibrationOptions options, const model::MeasuredRates& known)
    : options_(std::move(options)), rates_(known) {}
Calibration::Calibration(Calibration&& other) noexcept = default;
Calibration& Calibration::operator=(Calibration&& other) noexcept = default;
Calibration::~Calibration() = default;

absl::StatusOr<Calibration> Calibration::begin(const CalibrationOptions& options, driver::Builder& builder,
                                               database::Store& store) {
  TF_ASSIGN_OR_RETURN(const CalibrationRecords known, CalibrationRecords::read(store));
  model::MeasuredRates rates = known.rates_of(options.machine);
  if (options.told.flops_per_s > 0) rates.flops_per_s = options.told.flops_per_s;
  if (options.told.units > 0) rates.units = options.told.units;
  Calibration calibration(options, rates);
  const std::string target = options.machine.target.text();
  for (CalibrationKernel& kernel : calibration_kernels_of(options.machine.target)) {
    if (options.told.*kernel.rate > 0 || known.find(kernel, options.machine) != nullptr) continue;
    auto reply =
        std::async(std::launch::async,
                   [&builder, request = driver::kernel_request(kernel.task.kernel, target, kernel.schedule)] {
                     return builder.build(request);
                   });
    calibration.builds_.push_back({std::move(kernel), std::move(reply)});
  }
  return calibration;
}

absl::StatusOr<model::MeasuredRates> Calibration::finish(measure::Runner& runner, database::Store& store,
                                                         const std::atomic<bool>& stop) {
  const Clock::time_point deadline = Clock::now() + absl::ToChronoNanoseconds(options_.grace_period);
  const bool are_built =
      std::ranges::all_of(builds_, [&](const Build& build) { return build.is_there_before(deadline, stop); });
  if (!are_built) {  // what is built meanwhile would disturb the others
    if (!stop)
      spdlog::info(absl::StrCat("this machine was not calibrated: the calibration kernels were not built in ",
                                absl::FormatDuration(options_.grace_period)));
    return rates_;
  }
  Measurer measurer(options_, runner, store, deadline);
  for (Build& build : builds_) {
    if (stop || Clock::now() >= deadline) break;
    TF_ASSIGN_OR_RETURN(const std::optional<database::Measurement> record,
                        measurer.measure(build.kernel, build.reply.get()));
    if (!record) break;
    rates_.*build.kernel.rate = rate_by(*record, build.kernel.amount);
  }
  return rates_;
}

bool Calibration::is_building() const {
  return std::ranges::any_of(builds_, &Build::is_under_way);
}

absl::StatusOr<model::MeasuredRates> measured_rates(const CalibrationOptions& options,
                                                    driver::Builder& builder, measure::Runner& runner,
                                                    database::Store& store, const std::atomic<bool>& stop) {
  TF_ASSIGN_OR_RETURN(Calibration calibration, Calibration::begin(options, builder, store));
  return calibration.finish(runner, store, stop);
}

}  // namespace tf::session
