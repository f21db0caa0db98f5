#include "rpc/usage_ledger.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace tf::rpc {

// du/dt = held - u * ln 2 / half_life, solved from `at` to now.
double UsageLedger::now(const Account& account) const {
  const double kept = std::exp2(-absl::FDivDuration(clock_.now() - account.at, half_life_));
  const double limit = account.held * absl::ToDoubleSeconds(half_life_) / std::numbers::ln2;
  return limit + (account.held_seconds - limit) * kept;
}

void UsageLedger::begin(const std::string& user) {
  Account& account = accounts_[user];
  account = {.held = account.held + 1, .held_seconds = now(account), .at = clock_.now()};
}

void UsageLedger::end(const std::string& user) {
  const auto found = accounts_.find(user);
  TF_CHECK(found != accounts_.end() && found->second.held > 0) << user << " holds no lease";
  Account& account = found->second;
  account = {.held = account.held - 1, .held_seconds = now(account), .at = clock_.now()};
  // Users that have become indifferent are forgotten, so that there are never many.
  std::erase_if(accounts_,
                [this](const auto& each) { return each.second.held == 0 && now(each.second) < 1; });
}

uint32_t UsageLedger::held(const std::string& user) const {
  const auto found = accounts_.find(user);
  return found == accounts_.end() ? 0 : found->second.held;
}

double UsageLedger::held_seconds(const std::string& user) const {
  const auto found = accounts_.find(user);
  return found == accounts_.end() ? 0 : now(found->second);
}

double UsageLedger::cost(const std::string& user) const {
  return held_seconds(user) + held(user) * kChargeForEach;
}

}  // namespace tf::rpc
