#pragma once
// Owns: who waits for a lease, in what order, until when; and for a while the place of who has given up and
// may come again. Pure but for its clock. Does not know: slots, quotas, what an answer is.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "rpc/clock.h"
#include "tracker/leases/rank.h"
#include "tracker/leases/slot_index.h"

namespace tf::tracker {

using RequestId = uint64_t;

struct WaitingRequest {
  RequestKindId kind = 0;
  std::string user;
  std::string holder;
  std::string holder_run;
  int priority = 0;
  rpc::Instant arrived;   // set by the queue
  rpc::Instant deadline;  // waits strictly before
};

// Not thread-safe. Takes and gives in O(log requests); finding who is next takes O(users that wait).
class WaitQueue {
 public:
  // What a user's request costs it now (rank.h); nothing: this user gets nothing now.
  using CostOf = absl::FunctionRef<std::optional<double>(const std::string& user)>;
  // Whether this request is one to look at.
  using Filter = absl::FunctionRef<bool(const WaitingRequest&)>;

  // Who leaves unserved and comes again within `place_kept` has the place that it had. The clock must outlive
  // the queue.
  WaitQueue(const rpc::Clock& clock, RankOptions options, absl::Duration place_kept)
      : clock_(clock), options_(options), place_kept_(place_kept) {}

  RequestId add(WaitingRequest request);
  // It is served, and gone.
  std::optional<WaitingRequest> take(RequestId id);
  // It leaves unserved. Its place is kept unless so many of its user's are. Nothing if it is not here.
  std::optional<WaitingRequest> withdraw(RequestId id,
                                         size_t most_places = std::numeric_limits<size_t>::max());
  // That are kept.
  size_t places() const { return places_until_.size(); }

  // The next of all that wait with one of these kinds.
  std::optional<RequestId> best(const std::set<RequestKindId>& kinds, CostOf cost_of) const;
  // The next of those that the filter lets through, if it goes before `rank`.
  std::optional<RequestId> best_before(const Rank& rank, const std::set<RequestKindId>& kinds, CostOf cost_of,
                                       Filter filter) const;
  const WaitingRequest& at(RequestId id) const { return requests_.at(id); }

  size_t waiting(const std::string& user) const;
  size_t waiting(RequestKindId kind) const;
  // The kinds of requests with which this user waits, and with how many requests each.
  const std::map<RequestKindId, size_t>& waiting_of(const std::string& user) const;
  // The kinds alone.
  std::vector<RequestKindId> kinds_of(const std::string& user) const;
  // The requests of this holder, whoever their users are.
  std::vector<RequestId> of_holder(const std::string& holder) const;
  // All, in no particular order.
  const std::map<RequestId, WaitingRequest>& requests() const { return requests_; }

  // Whose deadline has passed, and when the next one does.
  std::vector<RequestId> overtime() const;
  std::optional<rpc::Instant> next_deadline() const;

  // As seen now; `cost` as CostOf gives it.
  Rank rank_now(const WaitingRequest& request, double cost) const;
  const RankOptions& options() const { return options_; }

 private:
  using Line = std::set<std::pair<rpc::Instant, RequestId>>;  // by virtual arrival
  struct Place {
    rpc::Instant arrived;
    rpc::Instant until;
  };
  using PlaceKey = std::tuple<std::string, std::string, std::string, RequestKindId>;  // user, holder, run
  using Places = std::multimap<PlaceKey, Place>;
  std::pair<rpc::Instant, RequestId> place_in_line(const WaitingRequest& request, RequestId id) const;
  static PlaceKey key_of(const WaitingRequest& request);
  void drop(Places::iterator place);
  void forget_places();

  const rpc::Clock& clock_;
  const RankOptions options_;
  const absl::Duration place_kept_;
  std::map<RequestId, WaitingRequest> requests_;
  std::map<RequestKindId, std::map<std::string, Line>> lines_;  // by user
  std::map<RequestKindId, size_t> waiting_with_;
  std::map<std::string, std::map<RequestKindId, size_t>> by_user_;  // how many
  std::map<std::string, std::set<RequestId>> by_holder_;
  std::set<std::pair<rpc::Instant, RequestId>> deadlines_;
  Places places_;
  std::multiset<std::pair<rpc::Instant, PlaceKey>> places_until_;  // in step with it, as the next
  std::map<std::string, size_t> places_of_;                        // how many, by user
  RequestId last_id_ = 0;
};

}  // namespace tf::tracker
