#pragma once
// Owns: the two views of the database. Records answers questions (a file, JSON lines, a running tuner); Store
// is the one writer. Everything here is thread-safe. Does not know: how either is kept.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/point.h"
#include "database/record.h"

namespace tf::database {

struct BestQuery {
  tensor::KernelKey problem;
  std::optional<std::string> device_class;    // nothing: measured on any device
  std::vector<std::string> allowed_numerics;  // records that use anything else do not count
  std::optional<uint32_t>
      semantics_version;  // of schedules; nothing: any (display only, never to build from)
  // Narrowed further: to one schedule; to those of builds without tuning, the one that was last called so
  // first.
  std::optional<std::string> schedule;
  enum class Of : uint8_t { kEvery, kUntuned };
  Of of = Of::kEvery;
  // For best() and choose(): what the verdict on the kernel's network says; nothing: there is none.
  std::optional<NetworkVerdict::Takes> takes;
};

// Why a build takes a record's schedule.
enum class Why : uint8_t {
  kVerified,   // it is the fastest, and its network is surely faster with the fastest schedules
  kFaster,     // it is surely faster than the untuned schedule
  kUnchecked,  // the untuned schedule has no time to compare with
  kFastest,    // it is the untuned schedule, and nothing looks faster
  kUnproven,   // it is the untuned schedule: what looks faster is not surely so
  kNoGain,     // it is the untuned schedule: its network is not surely faster with the fastest ones
};
std::string_view why_name(Why why);  // "verified", …

struct Choice {
  Measurement record;
  Why why = Why::kUnchecked;
};

// Every part that is set narrows the scan.
struct Filter {
  std::optional<Digest> workload;
  std::optional<tensor::KernelKey> problem;
  std::optional<int64_t> job_id;
  // kStanding leaves out ok measurements of programs that are no answer any more, because they failed since:
  // whoever else measured them. kOk leaves out failures and bounds, too.
  enum class Which : uint8_t { kAll, kStanding, kOk };
  Which which = Which::kAll;
};

// Called once a record; a failed status ends the scan and becomes its result.
using Visitor = std::function<absl::Status(const Measurement&)>;

class Records {
 public:
  virtual ~Records() = default;

  // Ok measurements that answer the query, least median first (ties: the older first), at most `limit`. Of a
  // schedule that was measured again on the same class of device, the last one counts (which_count.h); if it
  // failed then, it is no answer any more. Where the problem has none, those of the same kernel at the
  // nearest other reuse distance, the longer of two.
  virtual absl::StatusOr<std::vector<Measurement>> top(const BestQuery& query, size_t limit) = 0;
  // What to build with: as the network's verdict says, or, without one, of the fastest few the first that was
  // surely faster than the schedule of a build without tuning. If none was, that schedule (a tie is no reason
  // to change); the first, if that has no time. Only outcome ok counts: stopped_early is a lower bound, the
  // rest is no answer.
  absl::StatusOr<std::optional<Measurement>> best(const BestQuery& query);
  // The same, and why.
  absl::StatusOr<std::optional<Choice>> choose(const BestQuery& query);

  // NOT_FOUND if the key is unknown. A key prefix of at least 6 hexadecimal digits is enough if it is
  // unambiguous.
  virtual absl::StatusOr<Workload> find_workload(const std::string& key_or_prefix) = 0;
  // All workloads, in order of their first insertion.
  virtual absl::StatusOr<std::vector<Workload>> workloads() = 0;
  // Each distinct problem that has a measurement, in order of first insertion.
  virtual absl::StatusOr<std::vector<tensor::KernelKey>> problems() = 0;

  // Visits matching measurements in order of insertion. Those of a problem or a workload are those that there
  // are when it begins; else those that come meanwhile may be among them.
  virtual absl::Status scan(const Filter& filter, const Visitor& visit) = 0;
  // The record that record_digest names (tuning.lock), or NOT_FOUND.
  virtual absl::StatusOr<Measurement> find_record(const Digest& digest) = 0;
  // Whether exactly this program was measured for this problem before, with any outcome; a result that is
  // known already need not be measured again.
  virtual absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) = 0;
  // Of all networks, the latest first.
  virtual absl::StatusOr<std::vector<NetworkVerdict>> verdicts() = 0;

  // Visits the measurements with a row above `after_row`, in order of insertion. Here, of records without
  // rows, as a tuner's are: numbered from 1, by a scan of all.
  virtual absl::Status points(int64_t after_row, const PointVisitor& visit);
  // The measurement with that row, as points() numbers them. NOT_FOUND if there is none.
  virtual absl::StatusOr<Measurement> find_row(int64_t row);

  // The jobs of a database that keeps some; others answer that they have none.
  virtual absl::StatusOr<Job> find_job(int64_t id);
  virtual absl::StatusOr<std::vector<Job>> jobs();
  virtual absl::StatusOr<std::vector<JobTask>> job_tasks(int64_t job_id);
  // As save_job_network got it; empty: nobody told.
  virtual absl::StatusOr<std::string> job_network(int64_t job_id);
};

struct InsertResult {
  int64_t id = 0;          // of the new row, or of the one that was there
  bool duplicate = false;  // it was there already; nothing changed
};

// Where a measurement comes from. Only a live one is fenced: what an import brings was accepted by the
// database that it is from, in whatever order; it neither passes nor raises the fences of this one.
enum class Origin : uint8_t { kLive, kImport };

using InsertDone = std::function<void(absl::StatusOr<InsertResult>)>;

class Store : public Records {
 public:
  // Idempotent by key.
  virtual absl::Status add_workload(const Workload& workload) = 0;

  // Inserts one measurement of a known workload. Success means that it is on disk. An equal lease stamp, or
  // without one an equal record, is acknowledged as duplicate. ABORTED: its lease is fenced off by a higher
  // epoch, measure it again. FAILED_PRECONDITION: the workload is unknown. INVALID_ARGUMENT: it cannot be
  // what it says (record.h). Other errors: the row was not kept, try again.
  virtual absl::StatusOr<InsertResult> insert(const Measurement& measurement, Origin origin) = 0;
  absl::StatusOr<InsertResult> insert(const Measurement& measurement) {
    return insert(measurement, Origin::kLive);
  }
  // The same without waiting: `done` runs after the commit, on another thread, once. It must not call the
  // store.
  virtual void insert_async(const Measurement& measurement, Origin origin, InsertDone done) = 0;
  // Takes the place of the one with its key. One that is imported does so only if it is later.
  virtual absl::Status save_verdict(const NetworkVerdict& verdict, Origin origin) = 0;
  virtual absl::Status add_attempt(const Attempt& attempt) = 0;
  virtual absl::StatusOr<int64_t> count_attempts(int64_t job_id) = 0;
  // Schedules that the job (not 0) measured, with any outcome; one that it measured again counts once. Those
  // that only met others again, in final re-measurements, are none.
  virtual absl::StatusOr<int64_t> count_trials(int64_t job_id) = 0;

  // Returns the new job's id; `job.id` is ignored.
  virtual absl::StatusOr<int64_t> add_job(const Job& job) = 0;
  // Replaces state, detail and times. FAILED_PRECONDITION if the job is final and in another state, NOT_FOUND
  // if there is none.
  virtual absl::Status update_job(const Job& job) = 0;
  // Inserts or replaces the tasks by (job_id, index), all or none.
  virtual absl::Status save_job_tasks(const std::vector<JobTask>& tasks) = 0;
  // Which kernels the job's network calls, for people: a text that the store does not read. Replaces another.
  virtual absl::Status save_job_network(int64_t job_id, const std::string& network) = 0;
};

// Whether everything used is allowed.
bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed);

}  // namespace tf::database
