// What is on its way: candidates handed out to the pipeline, ranked again and withdrawn, until they arrive.
#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/driver/wire.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/session/loop/tuning_loop.h"

namespace tf::session {

void TuningLoop::fill(Pipeline& pipeline, bool draining) {
  const int64_t wanted = draining ? 0 : std::min<int64_t>(pipeline.depth(), trials_left());
  while (static_cast<int64_t>(in_flight_.size() + waiting_.size()) < wanted && submit_next(pipeline)) {
  }
}

// What is tried again joins the end of the queue: nobody waits for it.
void TuningLoop::submit_due(Pipeline& pipeline) {
  while (!waiting_.empty() && waiting_.begin()->first <= Clock::now()) {
    Waiting due = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    hand_out(std::move(due.flight), due.work);
    pipeline.submit(std::move(due.work));
  }
}

bool TuningLoop::submit_next(Pipeline& pipeline) {
  for (;;) {
    const int index = next_task(improvements());
    if (index < 0) return false;
    TaskState& task = *tasks_[static_cast<size_t>(index)];
    std::optional<space::Candidate> candidate = task.next();
    if (!candidate) continue;  // just exhausted: the next round leaves it out
    InFlight flight{.task = index, .candidate = *candidate, .subject = task.subject_of(*candidate)};
    Work work;
    if (search::is_baseline(options_.strategy)) work.priority = Priority::kRepeat;
    // It has to have a time, whatever is known already.
    if (flight.subject.untuned && task.best_seconds() > 0) work.priority = Priority::kInFull;
    progress_.set_current_task(index);
    work.request = std::make_shared<const tunefarm::kernel::v1::BuildRequest>(
        driver::kernel_request(task.task().kernel, target_, flight.subject.schedule));
    hand_out(std::move(flight), work);
    pipeline.submit(std::move(work));
    return true;
  }
}

// With the next ticket, at the end of the line.
void TuningLoop::hand_out(InFlight flight, Work& work) {
  flight.ticket = next_ticket_++;
  flight.place = std::make_shared<Place>(flight.ticket);
  work.task = flight.task;
  work.ticket = flight.ticket;
  work.place = flight.place;
  ++under_way_[static_cast<size_t>(flight.task)];
  in_flight_.emplace(flight.ticket, std::move(flight));
}

// The model has learned. Those that are as good as begun go on; of the others, each task's go in the order in
// which it ranks them now, in the places that they have together, without those that it finds hopeless. What
// has begun in truth makes no difference to what is proposed, but that GPUs' code which is built is ranked by its registers
// and spills.
void TuningLoop::rank_in_flight(Pipeline& pipeline) {
  struct Line {
    std::vector<uint64_t> places;
    std::vector<InFlight> flights;
    std::vector<space::Candidate> candidates;
    std::vector<std::optional<model::CodeFacts>> codes;
  };
  std::map<int, Line> lines;
  auto next = in_flight_.begin();
  std::advance(next, std::min(static_cast<size_t>(pipeline.begun()), in_flight_.size()));
  while (next != in_flight_.end()) {
    const auto each = next++;
    if (each->second.subject.untuned) continue;  // the untuned schedule
    auto taken = in_flight_.extract(each);
    Line& line = lines[taken.mapped().task];
    line.places.push_back(taken.key());
    line.candidates.push_back(taken.mapped().candidate);
    line.codes.push_back(taken.mapped().place->code());
    line.flights.push_back(std::move(taken.mapped()));
  }
  for (auto& [task, line] : lines) {
    const std::vector<size_t> order = tasks_[static_cast<size_t>(task)]->rank(line.candidates, line.codes);
    for (size_t i = 0; i < order.size(); ++i) {
      InFlight& flight = line.flights[order[i]];
      flight.place->move(line.places[i]);
      in_flight_.emplace(line.places[i], std::move(flight));
      flight.ticket = 0;
    }
    for (InFlight& flight : line.flights)
      if (flight.ticket != 0) withdraw(pipeline, std::move(flight));
  }
}

// Back to the space, as if it had not been proposed.
void TuningLoop::withdraw(Pipeline& pipeline, InFlight flight) {
  const auto task = static_cast<size_t>(flight.task);
  flight.place->withdraw();
  tasks_[task]->take_back(flight.candidate);
  --under_way_[task];
  progress_.set_withdrawn(progress_.withdrawn() + 1);
  const auto arrival = arrived_.extract(flight.ticket);
  if (!arrival.empty()) pipeline.let_go(arrival.mapped());
}

// Whoever stops waits only for what is on a device, or was measured.
void TuningLoop::withdraw_waiting(Pipeline& pipeline) {
  for (auto next = in_flight_.begin(); next != in_flight_.end();) {
    const auto each = next++;
    const InFlight& flight = each->second;
    if (flight.place->is_on_device() || arrived_.contains(flight.ticket)) continue;
    withdraw(pipeline, std::move(in_flight_.extract(each).mapped()));
  }
  waiting_.clear();
  progress_.set_finishing(static_cast<int32_t>(in_flight_.size()));
}

void TuningLoop::arrive(Pipeline& pipeline, Finished finished) {
  const uint64_t ticket = finished.work.ticket;
  const bool is_awaited =
      std::ranges::any_of(in_flight_, [&](const auto& flight) { return flight.second.ticket == ticket; });
  if (is_awaited) {
    arrived_.emplace(ticket, std::move(finished));
  } else {
    pipeline.let_go(finished);
  }
}

}  // namespace tf::session
