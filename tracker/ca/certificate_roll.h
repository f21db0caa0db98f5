#pragma once
// Owns: the certificates whose end has not come, in memory: whose they are, which are revoked, and a number
// that changes with the latter. A pure state machine beside the store, so that nobody reads all certificates
// that were ever issued to learn one thing of one. Does not know: files, keys.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "rpc/clock.h"
#include "tracker/ca/member_store.h"

namespace tf::tracker {

// What servers beside the tracker ask for. The generation is never 0, and another one after a restart.
struct Revocations {
  uint64_t generation = 0;
  std::set<std::string> serials;
};

// Not thread-safe.
class CertificateRoll {
 public:
  // The clock must outlive the roll.
  explicit CertificateRoll(const rpc::WallClock& clock);

  // Once each; one that has ended is left out.
  void add(const IssuedCertificate& issued);
  // Serials that are not on the roll have ended: they need no word.
  void revoke(const std::vector<std::string>& serials);

  // Issued here, not revoked, not ended.
  bool is_good(const std::string& serial);
  // Of this member, in no order.
  std::vector<std::string> good(const rpc::Identity& member);
  // Whether a good certificate of somebody else carries this host.
  bool is_host_of_other(const std::string& host, const rpc::Identity& member);
  // Some may have ended since the generation began.
  const Revocations& revocations() const { return revocations_; }

 private:
  void forget_ended();
  // True: it was good until now.
  bool take_off(const std::string& serial);

  const rpc::WallClock& clock_;
  struct Good {
    std::string member;
    std::vector<std::string> hosts;
  };
  std::map<std::string, Good> good_;                                   // by serial
  std::map<std::string, std::multiset<std::string>> members_of_host_;  // of the good ones
  std::map<std::string, std::set<std::string>> of_member_;             // its good serials
  std::set<std::pair<absl::Time, std::string>> by_end_;                // all on the roll
  Revocations revocations_;
};

}  // namespace tf::tracker
