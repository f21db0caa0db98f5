#pragma once
// Owns: how much of something that is given to one at a time (slots, places to run) each user holds and has
// held recently. Pure but for its clock. Does not know: what is held, or what follows from it.

#include <cstdint>
#include <map>
#include <string>

#include "rpc/clock.h"

namespace tf::rpc {

// Not thread-safe. Users are few: end() looks at all.
class UsageLedger {
 public:
  // After `half_life`, a second counts half. The clock must outlive the ledger.
  UsageLedger(const Clock& clock, absl::Duration half_life) : clock_(clock), half_life_(half_life) {}

  void begin(const std::string& user);
  // TF_CHECK: the user holds none.
  void end(const std::string& user);
  uint32_t held(const std::string& user) const;
  // Of a user that holds n for ever it tends to n * half_life / ln 2.
  double held_seconds(const std::string& user) const;
  // Who has least is next: held_seconds, and kChargeForEach for each that is held now, else one user got all
  // that is free at one moment. In seconds.
  double cost(const std::string& user) const;
  static constexpr double kChargeForEach = 60;

  struct Account {
    uint32_t held = 0;
    double held_seconds = 0;  // at `at`
    Instant at;
  };
  // Of users that hold or have recently held something.
  const std::map<std::string, Account>& accounts() const { return accounts_; }

 private:
  double now(const Account& account) const;

  const Clock& clock_;
  const absl::Duration half_life_;
  std::map<std::string, Account> accounts_;
};

}  // namespace tf::rpc
