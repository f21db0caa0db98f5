#include "tuner/session/playoff_run.h"

#include <chrono>
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
};

Table make_table(size_t task, const std::vector<Contender>& contenders) {
  std::vector<Estimate> estimates;
  for (const Contender& contender : contenders) estimates.push_back(contender.estimate);
  const std::vector<size_t> finalists = Playoff::finalists(estimates);
  Table table{Playoff(finalists.size()), {}, {}};
  for (const size_t contender : finalists) {
    Work work;
    work.task = static_cast<int>(task);
    work.request = contenders[contender].request;
    work.priority = Priority::kInFull;
    table.works.push_back(std::move(work));
    table.players.push_back({.task = task, .contender = contender});
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

// False if results stay away.
bool play_round(Pipeline& pipeline, const std::vector<Seat>& seats) {
  constexpr auto kPatience = std::chrono::seconds(60);
  for (size_t i = 0; i < seats.size(); ++i) {
    Work work = seats[i].table->works[seats[i].finalist];
    work.ticket = i;
    pipeline.submit(std::move(work));
  }
  for (size_t i = 0; i < seats.size(); ++i) {
    std::optional<Finished> finished = pipeline.next(kPatience);
    if (!finished) return false;
    const Seat seat = seats.at(finished->work.ticket);
    take(*std::move(finished), seat);
  }
  return true;
}

}  // namespace

std::vector<Played> play_off(Pipeline& pipeline, std::span<const std::vector<Contender>> contenders,
                             const std::atomic<bool>& stop) {
  std::vector<Table> tables;
  for (size_t task = 0; task < contenders.size(); ++task)
    tables.push_back(make_table(task, contenders[task]));
  while (!stop.load()) {
    std::vector<Seat> seats;
    std::vector<Table*> playing;
    for (Table& table : tables) {
      const std::vector<size_t> round = table.playoff.next_round();
      for (const size_t finalist : round) seats.push_back({&table, finalist});
      if (!round.empty()) playing.push_back(&table);
    }
    if (seats.empty() || !play_round(pipeline, seats)) break;
    for (Table* table : playing) table->playoff.end_round();
  }
  std::vector<Played> played;
  for (Table& table : tables) {
    for (Played& player : table.players)
      if (!player.results.empty()) played.push_back(std::move(player));
  }
  return played;
}

}  // namespace tf::session
