#include "tuner/session/earlier_results.h"

#include <algorithm>

#include "base/status.h"
#include "tuner/session/record_times.h"

namespace tf::session {

absl::StatusOr<EarlierResults> EarlierResults::read(database::Records& records, int64_t job_id,
                                                    const std::vector<database::Problem>& problems) {
  EarlierResults results;
  if (job_id == 0) return results;
  database::Filter filter;
  filter.job_id = job_id;
  TF_RETURN_IF_ERROR(records.scan(filter, [&](const database::Measurement& record) {
    results.first_record_ = std::min(results.first_record_, record.id);
    results.finished_unix_ns_.push_back(record.finished_unix_ns);
    if (is_of_network(record)) return absl::OkStatus();
    const auto problem = std::find(problems.begin(), problems.end(), record.problem);
    if (problem == problems.end()) return absl::OkStatus();
    const auto index = static_cast<int>(problem - problems.begin());
    if (record.interleaved || !results.first_.try_emplace({index, record.schedule}, record).second) {
      results.again_.push_back({index, record, true});
    } else {
      results.left_.insert(record.id);
      results.sampled_s_ += seconds_in_samples(record);
    }
    return absl::OkStatus();
  }));
  return results;
}

std::optional<database::Measurement> EarlierResults::take(int problem, const std::string& schedule) {
  const auto found = first_.find({problem, schedule});
  if (found == first_.end()) return std::nullopt;
  database::Measurement record = std::move(found->second);
  first_.erase(found);
  left_.erase(record.id);
  return record;
}

void EarlierResults::put_back(int problem, database::Measurement record) {
  left_.insert(record.id);
  first_.insert_or_assign({problem, record.schedule}, std::move(record));
}

void EarlierResults::visit_trials(
    const std::function<void(int problem, const database::Measurement&)>& visit) const {
  for (const auto& [key, record] : first_) visit(key.first, record);
}

std::vector<EarlierResults::Left> EarlierResults::rest() {
  std::vector<Left> all = std::exchange(again_, {});
  for (auto& [key, record] : first_) all.push_back({key.first, std::move(record), false});
  first_.clear();
  left_.clear();
  std::sort(all.begin(), all.end(), [](const Left& a, const Left& b) { return a.record.id < b.record.id; });
  return all;
}

}  // namespace tf::session
