#pragma once
// Owns: how many slots each user holds and has held recently. Pure but for its clock. Does not know: which
// slots, or what follows from it.

#include <cstdint>
#include <map>
#include <string>

#include "rpc/clock.h"

namespace tf::tracker {

// Not thread-safe. Users are few: end() looks at all.
class UsageLedger {
 public:
  // After `half_life`, a slot-second counts half. The clock must outlive the ledger.
  UsageLedger(const rpc::Clock& clock, absl::Duration half_life) : clock_(clock), half_life_(half_life) {}

  void begin(const std::string& user);
  // TF_CHECK: the user holds none.
  void end(const std::string& user);
  uint32_t held(const std::string& user) const;
  // Of a user that holds n slots for ever it tends to n * half_life / ln 2.
  double slot_seconds(const std::string& user) const;

  struct Account {
    uint32_t held = 0;
    double slot_seconds = 0;  // at `at`
    rpc::Instant at;
  };
  // Of users that hold or have recently held slots.
  const std::map<std::string, Account>& accounts() const { return accounts_; }

 private:
  double now(const Account& account) const;

  const rpc::Clock& clock_;
  const absl::Duration half_life_;
  std::map<std::string, Account> accounts_;
};

}  // namespace tf::tracker
