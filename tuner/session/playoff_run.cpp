#include "tuner/session/playoff_run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace tf::session {
namespace {

// One task's play-off.
struct Table {
  const Pairing* pairing;
  Playoff playoff;
  std::vector<Work> works;  // of the finalists, built after their first trial
  std::vector<Played> players;
  size_t playing = 0;  // trials of the present round whose results have not come
};

Table make_table(const Pairing& pairing) {
  Table table{.pairing = &pairing, .playoff = Playoff(pairing.contenders.size())};
  for (size_t i = 0; i < pairing.contenders.size(); ++i) {
    Work work;
    work.task = static_cast<int>(pairing.task);
    work.request = pairing.contenders[i].request;
    work.priority = Priority::kInFull;
    table.works.push_back(std::move(work));
    table.players.push_back({.contender = i});
  }
  return table;
}

struct Seat {
  Table* table;
  size_t contender;
};

void take(Finished finished, const Seat& seat) {
  if (!finished.status.ok() || !finished.result) return;
  Table& table = *seat.table;
  Played& player = table.players[seat.contender];
  const Subject& subject = table.pairing->contenders[seat.contender].subject;
  const database::Measurement& trial =
      player.trials.emplace_back(record_of(subject, *finished.work.built, *finished.result));
  player.results.push_back(std::move(finished.result));
  if (trial.outcome == database::Outcome::kOk && trial.median_ns().value_or(0) > 0) {
    table.playoff.add(seat.contender, *trial.median_ns());
  } else {
    table.playoff.fail(seat.contender);
  }
  table.works[seat.contender] = std::move(finished.work);
}

// Who was measured, the winner first, who failed last.
std::vector<Played> ranking(Table& table) {
  std::vector<Played> ranked;
  for (const Playoff::Standing& standing : table.playoff.standings()) {
    ranked.push_back(std::move(table.players[standing.finalist]));
    ranked.back().standing = standing;
  }
  for (Played& player : table.players) {
    if (!player.trials.empty()) ranked.push_back(std::move(player));
  }
  return ranked;
}

// All tables, with as many trials under way as keep the pipeline busy.
class Hall {
 public:
  Hall(Pipeline& pipeline, std::span<const Pairing> pairings, const PlayOffLimits& limits,
       const Spoiled& spoiled, uint64_t first_ticket)
      : pipeline_(pipeline), limits_(limits), spoiled_(spoiled), next_ticket_(first_ticket) {
    for (const Pairing& pairing : pairings) tables_.push_back(make_table(pairing));
    for (Table& table : tables_) next_.push_back(&table);
  }

  void play() {
    const auto depth = static_cast<size_t>(std::max(1, pipeline_.depth()));
    for (;;) {
      while (!waiting_.empty() && (is_over() || waiting_.begin()->first <= Clock::now())) end_waiting();
      while (!next_.empty() && seats_.size() + waiting_.size() < depth && !is_over()) begin_round();
      if (seats_.empty() && waiting_.empty()) return;
      std::optional<Finished> finished = pipeline_.next(patience());
      if (!finished && waiting_.empty()) return;
      if (!finished) continue;
      const auto seat = seats_.extract(finished->work.ticket);
      if (seat.empty()) continue;
      if (limits_.throttling.spoils(*finished)) {
        const auto delay = absl::ToChronoMilliseconds(limits_.retry_delay * (finished->work.tries + 1));
        waiting_.emplace(Clock::now() + delay, Waiting{seat.mapped(), *std::move(finished)});
      } else {
        settle(*std::move(finished), seat.mapped());
      }
    }
  }

  std::vector<std::vector<Played>> rankings() {
    std::vector<std::vector<Played>> all;
    for (Table& table : tables_) all.push_back(ranking(table));
    return all;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What came of a trial that is to be made again.
  struct Waiting {
    Seat seat;
    Finished finished;
  };

  bool is_over() const { return limits_.stop.load() || Clock::now() >= limits_.deadline; }

  // Who waits for a device to cool looks now and then whether it is over.
  std::chrono::milliseconds patience() const {
    constexpr auto kPatience = std::chrono::milliseconds(60'000), kLook = std::chrono::milliseconds(100);
    if (waiting_.empty()) return kPatience;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting_.begin()->first - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), kLook);
  }

  // Of the table that has waited longest; it leaves once it is decided.
  void begin_round() {
    Table& table = *next_.front();
    next_.pop_front();
    for (const size_t contender : table.playoff.next_round()) {
      Work work = table.works[contender];
      work.tries = 0;
      ++table.playing;
      submit(std::move(work), {&table, contender});
    }
  }

  void submit(Work work, const Seat& seat) {
    work.ticket = next_ticket_++;
    seats_.emplace(work.ticket, seat);
    pipeline_.submit(std::move(work));
  }

  // The trial is made again, unless there is no time: then it counts after all, or its round would lack it.
  void end_waiting() {
    Waiting waiting = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    const auto& [table, contender] = waiting.seat;
    if (is_over()) return settle(std::move(waiting.finished), waiting.seat);
    spoiled_(table->pairing->contenders[contender].subject, waiting.finished);
    ++waiting.finished.work.tries;
    submit(std::move(waiting.finished.work), waiting.seat);
  }

  void settle(Finished finished, const Seat& seat) {
    take(std::move(finished), seat);
    if (--seat.table->playing > 0) return;
    seat.table->playoff.end_round();
    next_.push_back(seat.table);
  }

  Pipeline& pipeline_;
  const PlayOffLimits& limits_;
  const Spoiled& spoiled_;
  std::vector<Table> tables_;
  std::deque<Table*> next_;                            // between two rounds
  std::map<uint64_t, Seat> seats_;                     // under way, by ticket
  std::multimap<Clock::time_point, Waiting> waiting_;  // to be made again
  uint64_t next_ticket_;
};

}  // namespace

std::vector<std::vector<Played>> play_off(Pipeline& pipeline, std::span<const Pairing> pairings,
                                          const PlayOffLimits& limits, const Spoiled& spoiled,
                                          uint64_t first_ticket) {
  Hall hall(pipeline, pairings, limits, spoiled, first_ticket);
  hall.play();
  return hall.rankings();
}

}  // namespace tf::session
