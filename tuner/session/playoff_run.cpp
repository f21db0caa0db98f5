#include "tuner/session/playoff_run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "proto/farm/v1/trial.pb.h"
#include "tuner/session/playoff.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;

// One task's play-off.
struct Table {
  Playoff playoff;
  std::vector<Work> works;  // of the finalists, built after their first trial
  std::vector<Played> players;
  size_t playing = 0;  // trials of the present round whose results have not come
};

Table make_table(const Match& match) {
  std::vector<Estimate> estimates;
  for (const Contender& contender : match.contenders) estimates.push_back(contender.estimate);
  const std::vector<size_t> finalists = Playoff::finalists(estimates);
  Table table{.playoff = Playoff(finalists.size())};
  for (const size_t contender : finalists) {
    Work work;
    work.task = static_cast<int>(match.task);
    work.request = match.contenders[contender].request;
    work.priority = Priority::kInFull;
    table.works.push_back(std::move(work));
    table.players.push_back({.task = match.task, .contender = contender});
  }
  return table;
}

struct Seat {
  Table* table;
  size_t finalist;
};

void take(Finished finished, const Seat& seat) {
  if (!finished.status.ok() || !finished.result || finished.result->outcome() != farm::OUTCOME_OK) return;
  std::vector<double> runs_ns;
  for (const farm::Sample& sample : finished.result->samples())
    runs_ns.push_back(static_cast<double>(sample.total_ns()) / sample.iterations());
  seat.table->playoff.add(seat.finalist, estimate(std::move(runs_ns)).median_ns);
  Played& player = seat.table->players[seat.finalist];
  player.built = finished.work.built;
  player.results.push_back(std::move(finished.result));
  seat.table->works[seat.finalist] = std::move(finished.work);
}

// All tables, with as many trials under way as keep the pipeline busy.
class Hall {
 public:
  Hall(Pipeline& pipeline, std::span<const Match> matches, uint64_t first_ticket)
      : pipeline_(pipeline), next_ticket_(first_ticket) {
    for (const Match& match : matches) tables_.push_back(make_table(match));
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

  std::vector<Played> played() {
    std::vector<Played> played;
    for (Table& table : tables_) {
      for (Played& player : table.players)
        if (!player.results.empty()) played.push_back(std::move(player));
    }
    return played;
  }

 private:
  // Of the table that has waited longest; it leaves once it is decided.
  void begin_round() {
    Table& table = *next_.front();
    next_.pop_front();
    for (const size_t finalist : table.playoff.next_round()) {
      Work work = table.works[finalist];
      work.ticket = next_ticket_++;
      seats_.emplace(work.ticket, Seat{&table, finalist});
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

std::vector<Played> play_off(Pipeline& pipeline, std::span<const Match> matches,
                             const std::atomic<bool>& stop, std::chrono::steady_clock::time_point deadline,
                             uint64_t first_ticket) {
  Hall hall(pipeline, matches, first_ticket);
  hall.play([&] { return stop.load() || std::chrono::steady_clock::now() >= deadline; });
  return hall.played();
}

}  // namespace tf::session
