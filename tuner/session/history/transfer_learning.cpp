#include "tuner/session/history/transfer_learning.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/schedule/schedule.h"
#include "tuner/session/loop/task_state.h"
#include "tuner/space/carry_over.h"

namespace tf::session {
namespace {

constexpr size_t kSuggestions = 4;  // to a task at a time: they take places of its own proposals
constexpr double kTooFar = 8;       // in the unit of space::distance: such sizes have nothing in common

// The sketch of the space that is most like the source's; -1 if none is like it. Sketches of one family may
// differ in steps, too: of what is stored, say.
int sketch_like(const space::Sketch& source, std::span<const space::Sketch> sketches) {
  const std::string steps = schedule::to_string(source.steps);
  int chosen = -1;
  for (size_t i = 0; i < sketches.size(); ++i) {
    if (!space::are_alike(source, sketches[i])) continue;
    if (schedule::to_string(sketches[i].steps) == steps) return static_cast<int>(i);
    chosen = static_cast<int>(i);
  }
  return chosen;
}

}  // namespace

std::vector<space::Candidate> carried_over(std::span<const TransferSource> sources, const TaskSpace& task,
                                           size_t most) {
  struct Carried {
    double apart = 0;
    space::Candidate candidate;
  };
  std::vector<Carried> all;
  const std::vector<space::Sketch>& sketches = task.space().sketches;
  for (const TransferSource& source : sources) {
    const int chosen = sketch_like(source.sketch, sketches);
    if (chosen < 0) continue;
    const space::Sketch& to = sketches[static_cast<size_t>(chosen)];
    const double apart = space::distance(source.sketch, to) + source.remoteness;
    if (apart > kTooFar) continue;
    all.push_back({apart, {chosen, space::carry_over(source.sketch, source.point, to)}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Carried& a, const Carried& b) { return a.apart < b.apart; });
  std::vector<space::Candidate> carried;
  std::set<space::Candidate> known;
  for (Carried& each : all) {
    if (carried.size() == most) break;
    if (known.insert(each.candidate).second && task.evaluator().legal({&each.candidate, 1})[0])
      carried.push_back(std::move(each.candidate));
  }
  return carried;
}

void share_best(std::span<const std::unique_ptr<TaskState>> tasks) {
  std::vector<std::optional<TransferSource>> given;
  given.reserve(tasks.size());
  for (const auto& task : tasks) given.push_back(task->take_new_best());
  for (size_t to = 0; to < tasks.size(); ++to) {
    std::vector<TransferSource> others;
    for (size_t from = 0; from < tasks.size(); ++from)
      if (from != to && given[from]) others.push_back(*given[from]);
    if (!others.empty()) tasks[to]->suggest(carried_over(others, tasks[to]->space(), kSuggestions));
  }
}

}  // namespace tf::session
