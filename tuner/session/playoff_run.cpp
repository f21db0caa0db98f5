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
  Hall(Pipeline& pipeline, std::span<const Pairing> pairings, uint64_t first_ticket)
      : pipeline_(pipeline), next_ticket_(first_ticket) {
    for (const Pairing& pairing : pairings) tables_.push_back(make_table(pairing));
    for (Table& table : tables_) next_.push_back(&table);
  }

  template <typename IsOver>
  void play(IsOver&& is_over) {
    constexpr auto kPatience = std::chrono::seconds(60);
    const auto depth = static_cast<size_t>(std::max(1, pipeline_.depth()));
    for (;;) {
      while (!next_.empty() && seats_.size() < depth && !is_over()) begin_round();
      if (seats_.empty()) return;
      std::optional<Finished> finished = pipeline_.next(kPatience);
      if (!finished) return;
      const auto seat = seats_.find(finished->work.ticket);
      if (seat == seats_.end()) continue;
      Table& table = *seat->second.table;
      take(*std::move(finished), seat->second);
      seats_.erase(seat);
      if (--table.playing > 0) continue;
      table.playoff.end_round();
      next_.push_back(&table);
    }
  }

  std::vector<std::vector<Played>> rankings() {
    std::vector<std::vector<Played>> all;
    for (Table& table : tables_) all.push_back(ranking(table));
    return all;
  }

 private:
  // Of the table that has waited longest; it leaves once it is decided.
  void begin_round() {
    Table& table = *next_.front();
    next_.pop_front();
    for (const size_t contender : table.playoff.next_round()) {
      Work work = table.works[contender];
      work.ticket = next_ticket_++;
      seats_.emplace(work.ticket, Seat{&table, contender});
      ++table.playing;
      pipeline_.submit(std::move(work));
    }
  }

  Pipeline& pipeline_;
  std::vector<Table> tables_;
  std::deque<Table*> next_;         // between two rounds
  std::map<uint64_t, Seat> seats_;  // under way, by ticket
  uint64_t next_ticket_;
};

}  // namespace

std::vector<std::vector<Played>> play_off(Pipeline& pipeline, std::span<const Pairing> pairings,
                                          const std::atomic<bool>& stop,
                                          std::chrono::steady_clock::time_point deadline,
                                          uint64_t first_ticket) {
  Hall hall(pipeline, pairings, first_ticket);
  hall.play([&] { return stop.load() || std::chrono::steady_clock::now() >= deadline; });
  return hall.rankings();
}

}  // namespace tf::session
