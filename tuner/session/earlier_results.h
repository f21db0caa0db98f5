#pragma once
// Owns: what an earlier run of the same job measured. The search begins anew and is told each result when it
// proposes the candidate again, so that a run that was interrupted goes on as if it had not been. Does not
// know: search, why a run ended.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::session {

class EarlierResults {
 public:
  // Of the job's records, those of the problems, which are numbered. Errors: the store's.
  static absl::StatusOr<EarlierResults> read(database::Records& records, int64_t job_id,
                                             const std::vector<database::Problem>& problems);

  // The number of the job's first record; what is below was known when it began.
  int64_t first_record() const { return first_record_; }
  // When its results were there.
  const std::vector<int64_t>& finished_unix_ns() const { return finished_unix_ns_; }
  // How long its trials took, inside timed samples.
  double sampled_s() const { return sampled_s_; }

  // The number of the oldest trial that was not taken; the greatest there is if all were.
  int64_t oldest_left() const { return left_.empty() ? std::numeric_limits<int64_t>::max() : *left_.begin(); }

  // What came of the schedule, once.
  std::optional<database::Measurement> take(int problem, const std::string& schedule);

  // What was taken, for who takes it later.
  void put_back(int problem, database::Measurement record);

  struct Left {
    int problem = 0;
    database::Measurement record;
    // No trial: of a final re-measurement, whoever tried its schedule, or another record of it came before.
    bool again = false;
  };
  // All that was not taken, oldest first: what the search does not propose any more, and final
  // re-measurements. Nothing is left afterwards.
  std::vector<Left> rest();
  // Each trial that was not taken, with the number of its problem.
  void visit_trials(const std::function<void(int problem, const database::Measurement&)>& visit) const;

 private:
  std::map<std::pair<int, std::string>, database::Measurement> first_;  // of each schedule
  std::set<int64_t> left_;                                              // their numbers
  std::vector<Left> again_;
  int64_t first_record_ = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> finished_unix_ns_;
  double sampled_s_ = 0;
};

}  // namespace tf::session
