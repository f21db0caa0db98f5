#include "tuner/session/taken_over.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "database/which_count.h"
#include "tuner/session/record_times.h"

namespace tf::session {
namespace {

std::vector<database::Measurement> that_count(const std::vector<database::Measurement>& records) {
  const std::vector<const database::Measurement*> by_time = database::which_count(records);
  const auto untuned = std::find_if(by_time.rbegin(), by_time.rend(), [](const auto* record) {
    const std::optional<Time> time = time_of(*record);
    return record->untuned && time && !time->lower_bound;
  });
  std::vector<database::Measurement> counting;
  for (const database::Measurement* record : by_time) {
    counting.push_back(*record);
    counting.back().untuned = untuned != by_time.rend() && record == *untuned;
  }
  std::map<std::string, int64_t> first;
  for (const database::Measurement& record : records) first.try_emplace(record.schedule, record.id);
  std::ranges::stable_sort(counting, {}, [&](const auto& record) { return first.at(record.schedule); });
  return counting;
}

}  // namespace

TakenOver take_over(const std::vector<database::Measurement>& records, int64_t job_id, int64_t first_record) {
  TakenOver taken;
  std::vector<database::Measurement> before, since;
  std::set<std::string> told;
  for (const database::Measurement& record : records) {
    const bool is_own = job_id != 0 && record.job_id == job_id;
    if (is_own && record.interleaved) continue;
    if (is_own) told.insert(record.schedule);
    (is_own ? taken.own : record.id < first_record ? before : since).push_back(record);
  }
  taken.before = that_count(before);
  for (database::Measurement& record : since)
    if (told.insert(record.schedule).second) taken.since.push_back(std::move(record));
  return taken;
}

}  // namespace tf::session
