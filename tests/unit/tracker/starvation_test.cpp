// Whoever waits is served in bounded time, whatever the others do.

#include <random>

#include "tests/support/fake_clock.h"
#include "tracker/leases/matchmaker.h"

namespace tf::tracker {
namespace {

// A farm that is never idle: at any time several requests of the highest priority wait, each of a user that
// has never held anything. Requests that are not served in a minute give up, so that only one waits for long.
class CrowdedFarm {
 public:
  CrowdedFarm(uint64_t seed, int slots) : random_(seed), matchmaker_(clock_, options_, {}) {
    for (int i = 0; i < slots; ++i) {
      const std::string id = "d" + std::to_string(i);
      matchmaker_.describe(
          std::make_shared<const DeviceInfo>(DeviceInfo{.id = id, .key = "box", .slots = {{0, 1, 0}}}));
      matchmaker_.set_free({id, 0}, {});
    }
  }

  // How long a request waits of a user who holds a slot already, so that all others are cheaper.
  absl::Duration wait_of(int priority) {
    ask("victim:holder", 10);
    run_for(absl::Seconds(1));
    const RequestId victim = ask("victim", priority);
    const rpc::Instant arrived = clock_.now();
    while (matchmaker_.queue().requests().contains(victim)) {
      run_for(absl::Seconds(1));
      if (clock_.now() - arrived > absl::Hours(5)) break;
    }
    return clock_.now() - arrived;
  }

  absl::Duration bound(int priority) const {
    return (kHighestPriority - priority) * options_.rank.ageing + options_.rank.overdue + kLongestHold +
           absl::Seconds(1);
  }

  const MatchOptions& options() const { return options_; }

 private:
  static constexpr absl::Duration kLongestHold = absl::Seconds(120);

  struct Held {
    SlotKey slot;
    std::string user;
    rpc::Instant until;
  };

  RequestId ask(const std::string& holder, int priority) {
    return *matchmaker_.add({.kind = {"box", {}},
                             .user = user_of(holder),
                             .holder = holder,
                             .holder_run = "run",
                             .priority = priority,
                             .wait = holder.starts_with("victim") ? absl::Hours(100) : absl::Minutes(1)});
  }

  void run_for(absl::Duration time) {
    clock_.advance(time);
    for (const RequestId id : matchmaker_.queue().overtime()) matchmaker_.withdraw(id);
    while (matchmaker_.queue().requests().size() < 5) ask("user" + std::to_string(++users_), 10);
    std::erase_if(held_, [this](const Held& held) {
      if (clock_.now() < held.until) return false;
      matchmaker_.end(held.slot, held.user);
      matchmaker_.set_free(held.slot, {});
      return true;
    });
    while (const std::optional<Match> match = matchmaker_.next()) {
      const bool for_ever = match->request.holder == "victim:holder";
      const absl::Duration hold = absl::Seconds(1 + random_() % 119);
      held_.push_back(
          {match->slot, match->request.user, for_ever ? absl::InfiniteDuration() : clock_.now() + hold});
    }
  }

  std::mt19937_64 random_;
  rpc::FakeClock clock_;
  MatchOptions options_;
  Matchmaker matchmaker_;
  std::vector<Held> held_;
  int users_ = 0;
};

TEST(Starvation, EveryPriorityIsServedWithinItsBoundInACrowdOfTheHighest) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const int priority : {-10, 0, 10}) {
      for (const int slots : {2, 5}) {
        CrowdedFarm farm(seed, slots);
        EXPECT_LE(farm.wait_of(priority), farm.bound(priority))
            << "seed " << seed << ", priority " << priority;
      }
    }
  }
}

// The holder of the only slot renews for as long as it may; others come and go.
TEST(Starvation, NobodyHoldsASlotForEverWhileOthersWait) {
  std::mt19937_64 random(11);
  for (int farm = 0; farm < 200; ++farm) {
    rpc::FakeClock clock;
    const MatchOptions options;
    Matchmaker matchmaker(clock, options, {});
    matchmaker.describe(
        std::make_shared<const DeviceInfo>(DeviceInfo{.id = "d", .key = "box", .slots = {{0, 1, 0}}}));
    matchmaker.set_free({"d", 0}, {});
    std::optional<Match> holder;
    rpc::Instant since;
    std::map<RequestId, rpc::Instant> waiting;
    for (int event = 0; event < 600; ++event) {
      clock.advance(absl::Seconds(random() % 20));
      if (waiting.size() < 3 && random() % 4 == 0) {
        const std::string user = "u" + std::to_string(random() % 3);
        const auto id = matchmaker.add({.kind = {"box", {}},
                                        .user = user,
                                        .holder = user + ":" + std::to_string(event),
                                        .holder_run = "run",
                                        .priority = static_cast<int>(random() % 5),
                                        .wait = absl::Hours(100)});
        waiting[*id] = clock.now();
      }
      if (holder && !matchmaker
                         .may_renew({.slot = holder->slot,
                                     .holder = holder->request.holder,
                                     .holder_run = "run",
                                     .user = holder->request.user,
                                     .priority = holder->request.priority,
                                     .granted_at = since})
                         .ok()) {
        matchmaker.end(holder->slot, holder->request.user);
        matchmaker.set_free(holder->slot, {});
        holder.reset();
      }
      if (std::optional<Match> match = matchmaker.next()) {
        EXPECT_FALSE(holder) << "one slot, two holders";
        waiting.erase(match->id);
        holder = std::move(match);
        since = clock.now();
      }
      for (const auto& [id, arrived] : waiting) {
        // At most two others wait with it, of whom cheaper users may go first; each holder gives way once it
        // has had its slice and a request goes before it again, which five levels settle.
        EXPECT_LE(clock.now() - arrived, 6 * (options.slice + 5 * options.rank.ageing)) << "farm " << farm;
      }
    }
  }
}

}  // namespace
}  // namespace tf::tracker
