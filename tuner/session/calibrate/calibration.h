#pragma once
// Owns: what the machine that measures reaches, for the roofline model: by the calibration kernels' records,
// or by measuring them first. Does not know: what the kernels are, what is made of the rates.

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/driver/builder.h"
#include "database/store.h"
#include "tuner/measure/runner.h"
#include "tuner/session/calibrate/calibration_kernels.h"

namespace tf::session {

// Machines that are taken for one, by what their records say.
struct MachineKind {
  target::Target target;
  std::string device_class;
  std::string fingerprint;
};

// The calibration kernels that a database has, of all machines. They are ordinary records of no job, so that
// an export carries them along; others' records of the very kind of machine, by an import, count as well. A
// value.
class CalibrationRecords {
 public:
  // Errors: the records'.
  static absl::StatusOr<CalibrationRecords> read(database::Records& records);

  // The first record of it on such a machine, while that was not throttled: what is read once stays. What did
  // not compile counts on all; what says more, or less, than any core reaches, as a file may, counts on none.
  // Null: it was never tried.
  const database::Measurement* find(const CalibrationKernel& kernel, const MachineKind& machine) const;
  // 0: it was never tried there, or it failed.
  model::MeasuredRates rates_of(const MachineKind& machine) const;

 private:
  std::vector<database::Measurement> records_;  // in order of insertion
};

// What counts, and how it is got.
struct CalibrationOptions {
  MachineKind machine;
  model::MeasuredRates told = {};  // by the device itself: no kernel measures them again
  // So long at most who estimates waits for them, but for the one that a device has begun.
  absl::Duration grace_period = absl::Seconds(10);
};

// Finds out what the machine reaches, by the store's records; calibration kernels that have none on such a
// machine are built, measured and recorded, which takes a second or two, once. In two steps, so that builders
// work while who estimates gets ready. What cannot be built or measured in time stays 0: that is no error.
// Where one is not built in time none is measured, and a line in the log says so. Not thread-safe.
class Calibration {
 public:
  // Has all of them built that are wanted, beside each other. The builder must outlive the calibration.
  // Errors: the store's.
  static absl::StatusOr<Calibration> begin(const CalibrationOptions& options, driver::Builder& builder,
                                           database::Store& store);
  Calibration(Calibration&& other) noexcept;
  Calibration& operator=(Calibration&& other) noexcept;
  ~Calibration();  // waits for what is being built

  // Once: measures them, one after another, after the last one is built, for nothing else should use the
  // device meanwhile. None is begun once `stop` is set. Errors: the store's, and the runner's that end a
  // session.
  absl::StatusOr<model::MeasuredRates> finish(measure::Runner& runner, database::Store& store,
                                              const std::atomic<bool>& stop);

  // Whether any is being built, which nobody waits for after finish() but the destructor.
  bool is_building() const;

 private:
  struct Build;
  Calibration(CalibrationOptions options, const model::MeasuredRates& known);

  CalibrationOptions options_;
  model::MeasuredRates rates_;  // as far as they are known
  std::vector<Build> builds_;   // of those that are not
};

// Both steps at once, for who has nothing to do meanwhile: benchmarks and tests.
absl::StatusOr<model::MeasuredRates> measured_rates(const CalibrationOptions& options,
                                                    driver::Builder& builder, measure::Runner& runner,
                                                    database::Store& store, const std::atomic<bool>& stop);

}  // namespace tf::session
