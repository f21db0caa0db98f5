#pragma once
// Owns: the tracker's own certificate: made at the first start, renewed while it runs. Does not know: other
// members.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/credentials.h"
#include "rpc/identity/identity.h"
#include "rpc/periodic_task.h"

namespace tf::tracker {

class Members;

class OwnCertificate {
 public:
  // Of the member "tracker", in `folder`. `hosts` are the canonical names and addresses under which it answers;
  // a certificate that lacks one of them is replaced. Members and clock must outlive it. Every `look_every` it looks whether it is time to renew it.
  static absl::StatusOr<std::unique_ptr<OwnCertificate>> open(Members& members, const std::string& folder,
                                                              std::vector<std::string> hosts,
                                                              const rpc::WallClock& clock,
                                                              absl::Duration look_every = absl::Seconds(2));
  const std::shared_ptr<rpc::Credentials>& credentials() const { return credentials_; }

 private:
  OwnCertificate(Members& members, std::shared_ptr<rpc::Credentials> credentials,
                 std::vector<std::string> hosts, const rpc::WallClock& clock, absl::Duration look_every);
  void renew_in_time();
  absl::Status renew();

  Members& members_;
  const std::shared_ptr<rpc::Credentials> credentials_;
  const std::vector<std::string> hosts_;
  const rpc::WallClock& clock_;
  std::optional<rpc::Certificate> next_;  // until it is in the folder; of the thread
  rpc::PeriodicTask keeping_;
};

// The folder of a member who needs no token, as the first admin needs none. Names and addresses in `hosts`
// are those under which it serves.
absl::Status make_member(Members& members, const std::string& folder, const rpc::Identity& identity,
                         const std::vector<std::string>& hosts = {});

}  // namespace tf::tracker
