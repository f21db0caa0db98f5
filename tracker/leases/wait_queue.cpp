#include "tracker/leases/wait_queue.h"

#include "base/check.h"

namespace tf::tracker {

std::pair<rpc::Instant, RequestId> WaitQueue::place_in_line(const WaitingRequest& request,
                                                            RequestId id) const {
  return {virtual_arrival(request.arrived, request.priority, options_), id};
}

WaitQueue::PlaceKey WaitQueue::key_of(const WaitingRequest& request) {
  return {request.user, request.holder, request.holder_run, request.kind};
}

void WaitQueue::drop(Places::iterator place) {
  places_until_.erase(places_until_.find({place->second.until, place->first}));
  const auto of_user = places_of_.find(std::get<0>(place->first));
  if (--of_user->second == 0) places_of_.erase(of_user);
  places_.erase(place);
}

void WaitQueue::forget_places() {
  while (!places_until_.empty() && places_until_.begin()->first < clock_.now()) {
    const auto& [until, key] = *places_until_.begin();
    auto place = places_.find(key);
    while (place->second.until != until) ++place;
    drop(place);
  }
}

RequestId WaitQueue::add(WaitingRequest request) {
  forget_places();
  request.arrived = clock_.now();
  if (const auto place = places_.find(key_of(request)); place != places_.end()) {
    request.arrived = place->second.arrived;
    drop(place);
  }
  const RequestId id = ++last_id_;
  lines_[request.kind][request.user].insert(place_in_line(request, id));
  ++waiting_with_[request.kind];
  ++by_user_[request.user][request.kind];
  by_holder_[request.holder].insert(id);
  deadlines_.insert({request.deadline, id});
  requests_[id] = std::move(request);
  return id;
}

std::optional<WaitingRequest> WaitQueue::take(RequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return std::nullopt;
  WaitingRequest request = std::move(found->second);
  requests_.erase(found);
  deadlines_.erase({request.deadline, id});
  const auto lines = lines_.find(request.kind);
  const auto line = lines->second.find(request.user);
  line->second.erase(place_in_line(request, id));
  if (line->second.empty()) lines->second.erase(line);
  if (lines->second.empty()) lines_.erase(lines);
  const auto with = waiting_with_.find(request.kind);
  if (--with->second == 0) waiting_with_.erase(with);
  const auto user = by_user_.find(request.user);
  const auto kind = user->second.find(request.kind);
  if (--kind->second == 0) user->second.erase(kind);
  if (user->second.empty()) by_user_.erase(user);
  const auto holder = by_holder_.find(request.holder);
  holder->second.erase(id);
  if (holder->second.empty()) by_holder_.erase(holder);
  return request;
}

std::optional<WaitingRequest> WaitQueue::withdraw(RequestId id, size_t most_places) {
  std::optional<WaitingRequest> request = take(id);
  if (!request || request->holder.empty()) return request;
  forget_places();
  const auto kept = places_of_.find(request->user);
  if (kept != places_of_.end() && kept->second >= most_places) return request;
  const PlaceKey key = key_of(*request);
  const rpc::Instant until = clock_.now() + place_kept_;
  places_.insert({key, {request->arrived, until}});
  places_until_.insert({until, key});
  ++places_of_[request->user];
  return request;
}

Rank WaitQueue::rank_now(const WaitingRequest& request, double cost) const {
  return rank_of(virtual_arrival(request.arrived, request.priority, options_), cost, clock_.now(), options_);
}

std::optional<RequestId> WaitQueue::best(const std::set<RequestKindId>& kinds, CostOf cost_of) const {
  std::optional<RequestId> best;
  Rank best_rank;
  for (const RequestKindId kind : kinds) {
    const auto lines = lines_.find(kind);
    if (lines == lines_.end()) continue;
    for (const auto& [user, line] : lines->second) {
      const std::optional<double> cost = cost_of(user);
      if (!cost) continue;
      const auto [virtual_arrival, id] = *line.begin();
      const Rank rank = rank_of(virtual_arrival, *cost, clock_.now(), options_);
      if (best && (best_rank < rank || (best_rank == rank && *best < id))) continue;
      best = id;
      best_rank = rank;
    }
  }
  return best;
}

std::optional<RequestId> WaitQueue::best_before(const Rank& limit, const std::set<RequestKindId>& kinds,
                                                CostOf cost_of, Filter filter) const {
  std::optional<RequestId> best;
  Rank best_rank = limit;
  for (const RequestKindId kind : kinds) {
    const auto lines = lines_.find(kind);
    if (lines == lines_.end()) continue;
    for (const auto& [user, line] : lines->second) {
      const std::optional<double> cost = cost_of(user);
      if (!cost) continue;
      for (const auto& [virtual_arrival, id] : line) {
        const Rank rank = rank_of(virtual_arrival, *cost, clock_.now(), options_);
        if (!(rank < best_rank)) break;
        if (!filter(requests_.at(id))) continue;
        best = id;
        best_rank = rank;
        break;
      }
    }
  }
  return best;
}

size_t WaitQueue::waiting(const std::string& user) const {
  size_t count = 0;
  for (const auto& [kind, each] : waiting_of(user)) count += each;
  return count;
}

size_t WaitQueue::waiting(RequestKindId kind) const {
  const auto found = waiting_with_.find(kind);
  return found == waiting_with_.end() ? 0 : found->second;
}

const std::map<RequestKindId, size_t>& WaitQueue::waiting_of(const std::string& user) const {
  static const std::map<RequestKindId, size_t> none;
  const auto found = by_user_.find(user);
  return found == by_user_.end() ? none : found->second;
}

std::vector<RequestKindId> WaitQueue::kinds_of(const std::string& user) const {
  std::vector<RequestKindId> kinds;
  for (const auto& [kind, count] : waiting_of(user)) kinds.push_back(kind);
  return kinds;
}

std::vector<RequestId> WaitQueue::of_holder(const std::string& holder) const {
  const auto found = by_holder_.find(holder);
  if (found == by_holder_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<RequestId> WaitQueue::overtime() const {
  std::vector<RequestId> ids;
  for (const auto& [deadline, id] : deadlines_) {
    if (deadline > clock_.now()) break;
    ids.push_back(id);
  }
  return ids;
}

std::optional<rpc::Instant> WaitQueue::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace tf::tracker
