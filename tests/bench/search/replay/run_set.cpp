#include "tests/bench/search/replay/run_set.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "base/status.h"

namespace tf::replay {

absl::StatusOr<RunSet> RunSet::create(const session::Task& task, const RunSetOptions& options) {
  RunSet set;
  for (const Contender& contender : options.contenders) {
    for (int i = 0; i < options.seeds; ++i) {
      TF_ASSIGN_OR_RETURN(auto run,
                          Run::create(task, {.target = options.target,
                                             .threads = options.threads,
                                             .contender = contender,
                                             .seed = options.first_seed + static_cast<uint64_t>(i),
                                             .trials = options.trials,
                                             .memory = contender.remembers ? options.memory : nullptr,
                                             .measured = options.measured}));
      set.runs_.push_back(std::move(run));
    }
  }
  return set;
}

std::vector<Wanted> RunSet::advance(const Pool& pool, int threads) {
  std::vector<std::vector<database::Measurement>> lacking(runs_.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < runs_.size(); i = next++) lacking[i] = runs_[i]->advance(pool);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();

  std::vector<Wanted> wanted;
  std::set<std::string> schedules;
  for (size_t i = 0; i < runs_.size(); ++i) {
    for (database::Measurement& subject : lacking[i]) {
      if (schedules.insert(subject.schedule).second)
        wanted.push_back({std::move(subject), runs_[i]->source()});
    }
  }
  return wanted;
}

int64_t RunSet::trials_left() const {
  int64_t left = 0;
  for (const auto& run : runs_) {
    if (!run->finished()) left += run->options().trials - static_cast<int64_t>(run->steps().size());
  }
  return left;
}

double RunSet::coverage() const {
  int64_t answered = 0;
  for (const auto& run : runs_) answered += static_cast<int64_t>(run->steps().size());
  const int64_t all = answered + trials_left();
  return all == 0 ? 1 : static_cast<double>(answered) / static_cast<double>(all);
}

std::map<std::string, Runs> RunSet::curves() const {
  std::map<std::string, Runs> curves;
  for (const auto& run : runs_) curves[run->options().contender.name()].push_back(run->steps());
  return curves;
}

}  // namespace tf::replay
