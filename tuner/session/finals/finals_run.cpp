#include "tuner/session/finals/finals_run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "tuner/measure/runner.h"

namespace tf::session {
namespace {

using Result = std::shared_ptr<const tunefarm::farm::v1::TrialResult>;

// After so many beginnings the trials of several devices are compared after all.
constexpr int kMostBegunAnew = 2;

// One task's final re-measurement.
struct Table {
  const TaskFinals* task_finals;
  Finals finals;
  std::vector<Work> works;  // of the finalists, built after their first trial
  std::vector<Played> players;
  size_t playing = 0;  // trials of the present round whose results have not come
  bool is_decided = false;
  uint64_t bench = 0;      // that it plays on; 0: it has not begun
  std::string slot;        // that measured its trials so far
  bool has_moved = false;  // to another one
  int begun_anew = 0;

  // What another device measured stands beside none of this one's: all of it goes.
  std::vector<Result> begin_anew() {
    std::vector<Result> results;
    for (Played& player : players) {
      std::ranges::move(player.results, std::back_inserter(results));
      player = {.finalist = player.finalist};
    }
    finals = Finals(players.size());
    bench = 0;
    slot.clear();
    has_moved = false;
    ++begun_anew;
    return results;
  }

  // Results that it has, and may come to have.
  size_t most_results() const {
    size_t results = finals.most_trials_left();
    for (const Played& player : players) results += player.results.size();
    return results;
  }
};
// The others are for what is late.
constexpr size_t kMostResults = measure::kMostUnacknowledged - 64;
static_assert(Finals::kFinalists * Finals::kRounds <= kMostResults);

Table make_table(const TaskFinals& task_finals) {
  Table table{.task_finals = &task_finals, .finals = Finals(task_finals.finalists.size())};
  for (size_t i = 0; i < task_finals.finalists.size(); ++i) {
    Work work;
    work.task = static_cast<int>(task_finals.task);
    work.request = task_finals.finalists[i].request;
    work.priority = Priority::kInFull;
    table.works.push_back(std::move(work));
    table.players.push_back({.finalist = i});
  }
  return table;
}

struct Seat {
  Table* table;
  size_t finalist;
};

void take(Finished finished, const Seat& seat) {
  if (!finished.status.ok() || !finished.result) return;
  Table& table = *seat.table;
  Played& player = table.players[seat.finalist];
  if (table.slot.empty()) table.slot = finished.result->slot();
  table.has_moved = table.has_moved || finished.result->slot() != table.slot;
  const database::Measurement& subject = table.task_finals->finalists[seat.finalist].subject;
  const database::Measurement& trial =
      player.trials.emplace_back(record_of(subject, *finished.work.built, *finished.result));
  player.results.push_back(std::move(finished.result));
  const std::vector<double> runs_ns = database::runs_ns(trial.samples);
  if (trial.outcome == database::Outcome::kOk && !runs_ns.empty() && std::ranges::min(runs_ns) > 0) {
    table.finals.add(seat.finalist, std::ranges::min(runs_ns));
  } else {
    table.finals.fail(seat.finalist);
  }
  table.works[seat.finalist] = std::move(finished.work);
}

// Who was measured, the winner first, who failed last.
std::vector<Played> ranking(Table& table) {
  std::vector<Played> ranked;
  for (const Finals::Score& score : table.finals.scores()) {
    ranked.push_back(std::move(table.players[score.finalist]));
    ranked.back().score = score;
  }
  for (Played& player : table.players) {
    if (!player.trials.empty()) ranked.push_back(std::move(player));
  }
  return ranked;
}

// All tables, with as many trials under way as keep the pipeline busy, and as many results kept as may be.
class FinalsLoop {
 public:
  FinalsLoop(Pipeline& pipeline, std::span<const TaskFinals> all_finals, const FinalsLimits& limits,
             const FinalsListener& listener, uint64_t first_ticket)
      : pipeline_(pipeline), limits_(limits), listener_(listener), next_ticket_(first_ticket) {
    for (const TaskFinals& task_finals : all_finals) tables_.push_back(make_table(task_finals));
  }

  absl::Status play() {
    TF_RETURN_IF_ERROR(play_rounds());
    // What is not decided goes by the rounds it had.
    for (Table& table : tables_) TF_RETURN_IF_ERROR(decide(table));
    return absl::OkStatus();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What came of a trial that is to be made again.
  struct Waiting {
    Seat seat;
    Finished finished;
  };

  absl::Status play_rounds() {
    for (;;) {
      while (!waiting_.empty() && (is_over() || waiting_.begin()->first <= Clock::now())) end_waiting();
      open_tables();
      while (!is_over()) {
        const auto next = std::ranges::find_if(next_, [this](Table* table) { return has_room(*table); });
        if (next == next_.end()) break;
        Table& table = **next;
        next_.erase(next);
        TF_RETURN_IF_ERROR(begin_round(table));
        open_tables();
      }
      if (seats_.empty() && waiting_.empty()) return absl::OkStatus();
      std::optional<Finished> finished = next_result();
      if (!finished && waiting_.empty()) return absl::OkStatus();
      if (!finished) continue;
      const auto seat = seats_.extract(finished->work.ticket);
      if (seat.empty()) {
        pipeline_.let_go(*finished);
        continue;
      }
      if (limits_.throttling.spoils(*finished) || may_try_again(*finished)) {
        const auto delay = absl::ToChronoMilliseconds(limits_.retry_delay * (finished->work.tries + 1));
        waiting_.emplace(Clock::now() + delay, Waiting{seat.mapped(), *std::move(finished)});
      } else {
        settle(*std::move(finished), seat.mapped());
      }
    }
  }

  std::optional<Finished> next_result() {
    constexpr auto kTellEvery = std::chrono::milliseconds(250);
    Clock::time_point until = Clock::now() + grace_period();
    for (;;) {
      if (limits_.devices && limits_.devices() == 0) until = Clock::now() + grace_period();
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      std::optional<Finished> finished =
          pipeline_.next(std::clamp(left, std::chrono::milliseconds(0), kTellEvery));
      if (limits_.meanwhile) limits_.meanwhile();
      if (finished || Clock::now() >= until) return finished;
    }
  }

  size_t benches() const { return static_cast<size_t>(std::max(1, limits_.devices ? limits_.devices() : 1)); }

  // Whether its bench lacks work.
  bool has_room(const Table& table) const {
    size_t playing = 0;
    for (const Table& each : tables_) playing += each.bench == table.bench ? each.playing : 0;
    return playing < std::max<size_t>(1, static_cast<size_t>(pipeline_.depth()) / benches());
  }

  // As many as may keep their results, each at the bench that has least to do; one always may.
  void open_tables() {
    std::vector<size_t> results(benches());
    for (const Table& table : tables_)
      if (table.bench != 0 && !table.is_decided)
        results[(table.bench - 1) % results.size()] += table.most_results();
    for (Table& table : tables_) {
      if (table.bench != 0) continue;
      const auto least = std::ranges::min_element(results);
      *least += table.most_results();
      if (*least > kMostResults) return;
      table.bench = 1 + static_cast<uint64_t>(least - results.begin());
      next_.push_back(&table);
    }
  }

  absl::Status decide(Table& table) {
    if (std::exchange(table.is_decided, true)) return absl::OkStatus();
    return listener_.decided(static_cast<size_t>(&table - tables_.data()), ranking(table));
  }

  bool is_over() const { return limits_.stop.load() || (limits_.is_late && limits_.is_late()); }

  // Who waits for a device to cool looks now and then whether it is over.
  std::chrono::milliseconds grace_period() const {
    constexpr auto kGracePeriod = std::chrono::milliseconds(60'000), kLook = std::chrono::milliseconds(100);
    if (waiting_.empty()) return kGracePeriod;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting_.begin()->first - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), kLook);
  }

  // Of a table that has left the queue; it stays out once it is decided.
  absl::Status begin_round(Table& table) {
    const std::vector<size_t> round = table.finals.next_round();
    if (round.empty()) return decide(table);
    for (const size_t finalist : round) {
      Work work = table.works[finalist];
      work.tries = 0;
      ++table.playing;
      submit(std::move(work), {&table, finalist});
    }
    return absl::OkStatus();
  }

  void submit(Work work, const Seat& seat) {
    work.ticket = next_ticket_++;
    work.bench = seat.table->bench;
    seats_.emplace(work.ticket, seat);
    pipeline_.submit(std::move(work));
  }

  // The trial is made again, unless there is no time: then it counts after all, or its round would lack it.
  void end_waiting() {
    Waiting waiting = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    const auto& [table, finalist] = waiting.seat;
    if (is_over()) return settle(std::move(waiting.finished), waiting.seat);
    listener_.spoiled(table->task_finals->finalists[finalist].subject, waiting.finished);
    ++waiting.finished.work.tries;
    submit(std::move(waiting.finished.work), waiting.seat);
  }

  void settle(Finished finished, const Seat& seat) {
    take(std::move(finished), seat);
    Table& table = *seat.table;
    if (--table.playing > 0) return;
    if (table.has_moved && table.begun_anew < kMostBegunAnew && !is_over()) {
      for (Result& result : table.begin_anew()) pipeline_.let_go({.result = std::move(result)});
      return;
    }
    table.finals.end_round();
    next_.push_back(&table);
  }

  Pipeline& pipeline_;
  const FinalsLimits& limits_;
  const FinalsListener& listener_;
  std::vector<Table> tables_;
  std::deque<Table*> next_;                            // between two rounds
  std::map<uint64_t, Seat> seats_;                     // under way, by ticket
  std::multimap<Clock::time_point, Waiting> waiting_;  // to be made again
  uint64_t next_ticket_;
};

}  // namespace

absl::Status run_finals(Pipeline& pipeline, std::span<const TaskFinals> all_finals,
                        const FinalsLimits& limits, const FinalsListener& listener, uint64_t first_ticket) {
  return FinalsLoop(pipeline, all_finals, limits, listener, first_ticket).play();
}

}  // namespace tf::session
