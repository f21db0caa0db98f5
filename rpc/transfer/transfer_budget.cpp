#include "rpc/transfer/transfer_budget.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

// The clock may be a test's, which nothing wakes for.
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);

}  // namespace

absl::Status nothing_received(absl::Duration grace_period) {
  return absl::DeadlineExceededError(absl::StrCat("no data received for ", absl::FormatDuration(grace_period),
                                                  "; the call was ended: send it again"));
}

// Under the budget's lock but for the last three.
struct TransferBudget::State {
  std::list<std::shared_ptr<State>>::iterator at;
  std::optional<std::map<std::string, Held>::iterator> of;
  uint64_t bytes = 0;
  absl::Duration grace_period, left;
  Instant began;
  std::optional<Instant> until;  // while it waits
  uint64_t moved_bytes = 0;
  bool expired = false;

  std::function<void()> end;
  // Recursive: `end` may be what finishes the transfer.
  std::recursive_mutex ending;
  bool over = false;
};

TransferBudget::TransferBudget(const TransferLimits& limits, const Clock& clock)
    : limits_(limits), clock_(clock), watching_([this] { return end_expired(); }) {}

TransferBudget::Transfer TransferBudget::begin(std::function<void()> end, absl::Duration grace_period) {
  auto state = std::make_shared<State>();
  state->end = std::move(end);
  state->grace_period = state->left = grace_period;
  const std::scoped_lock lock(mutex_);
  state->began = clock_.now();
  state->at = transfers_.insert(transfers_.end(), state);
  if (transfers_.size() == 1) watching_.wake();
  return Transfer(*this, std::move(state));
}

uint64_t TransferBudget::taken_bytes() const {
  const std::scoped_lock lock(mutex_);
  return taken_;
}

absl::Status TransferBudget::take_bytes(uint64_t bytes, const std::string& whose, Held& held) {
  const uint64_t most_of_each = whose.empty() ? limits_.bytes : limits_.bytes_of_each;
  const uint64_t most = std::min(limits_.bytes, most_of_each);
  if (bytes > most) {
    return absl::ResourceExhaustedError(absl::StrCat("a transfer of ", bytes, " bytes is too large: at most ",
                                                     most, " may be in transfer at once"));
  }
  if (bytes > limits_.bytes - taken_) {
    return absl::UnavailableError(absl::StrCat("transfer limit reached: more than ", limits_.bytes >> 20,
                                               " MiB would be in transfer; try again later"));
  }
  if (bytes > most_of_each - held.bytes) {
    return absl::UnavailableError(absl::StrCat("transfer limit reached: more than ", most_of_each >> 20,
                                               " MiB from ", whose,
                                               " would be in transfer; try again when one finishes"));
  }
  taken_ += bytes;
  held.bytes += bytes;
  return absl::OkStatus();
}

absl::Status TransferBudget::take(State& state, uint64_t bytes, const std::string& whose) {
  const std::scoped_lock lock(mutex_);
  if (!state.of) {
    const auto of = held_.try_emplace(whose).first;
    if (of->second.transfers >= limits_.transfers_of_each) {
      return absl::UnavailableError(absl::StrCat(whose.empty() ? "an unnamed sender" : whose, " already has ",
                                                 limits_.transfers_of_each,
                                                 " uploads in progress; try again when one finishes"));
    }
    ++of->second.transfers;
    state.of = of;
  }
  TF_RETURN_IF_ERROR(take_bytes(bytes, whose, (*state.of)->second));
  state.bytes += bytes;
  return absl::OkStatus();
}

absl::Status TransferBudget::status_of(const State& state) const {
  if (!state.expired) return absl::OkStatus();
  if (state.moved_bytes == 0) return nothing_received(state.grace_period);
  return absl::DeadlineExceededError(
      absl::StrCat("transfer too slow: only ", state.moved_bytes, " bytes moved in ",
                   absl::FormatDuration(clock_.now() - state.began), "; send it again"));
}

absl::Duration TransferBudget::end_expired() {
  std::vector<std::shared_ptr<State>> ends;
  {
    const std::scoped_lock lock(mutex_);
    const Instant now = clock_.now();
    for (const std::shared_ptr<State>& state : transfers_) {
      if (state->expired || !state->until || *state->until > now) continue;
      state->expired = true;
      ends.push_back(state);
    }
  }
  for (const std::shared_ptr<State>& state : ends) {
    const std::scoped_lock own(state->ending);
    if (!state->over) state->end();
  }
  const std::scoped_lock lock(mutex_);
  return transfers_.empty() ? absl::InfiniteDuration() : kLookEvery;
}

absl::Status TransferBudget::Transfer::take(uint64_t bytes, const std::string& whose) {
  return budget_->take(*state_, bytes, whose);
}

void TransferBudget::Transfer::wait() {
  const std::scoped_lock lock(budget_->mutex_);
  state_->until = budget_->clock_.now() + state_->left;
}

absl::Status TransferBudget::Transfer::moved(uint64_t bytes) {
  const std::scoped_lock lock(budget_->mutex_);
  if (const std::optional<Instant> until = std::exchange(state_->until, std::nullopt)) {
    state_->left = *until - budget_->clock_.now();
    state_->expired = state_->expired || state_->left < absl::ZeroDuration();
  }
  state_->moved_bytes += bytes;
  state_->left = std::min(state_->grace_period, state_->left + longest_transfer(bytes));
  return budget_->status_of(*state_);
}

absl::Status TransferBudget::Transfer::finish() {
  const std::shared_ptr<State> state = std::exchange(state_, nullptr);
  if (!state) return absl::OkStatus();
  absl::Status status;
  {
    const std::scoped_lock lock(budget_->mutex_);
    budget_->transfers_.erase(state->at);
    status = budget_->status_of(*state);
    if (state->of) {
      const auto of = *state->of;
      budget_->taken_ -= state->bytes;
      of->second.bytes -= state->bytes;
      if (--of->second.transfers == 0) budget_->held_.erase(of);
    }
  }
  const std::scoped_lock own(state->ending);
  state->over = true;
  return status;
}

}  // namespace tf::rpc
