#pragma once
// Owns: the tracker's own certificate: made at the first start, renewed while it runs. Does not know: other
// members.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/credentials.h"
#include "rpc/identity/identity.h"

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
  ~OwnCertificate();
  const std::shared_ptr<rpc::Credentials>& credentials() const { return credentials_; }

 private:
  OwnCertificate(Members& members, std::shared_ptr<rpc::Credentials> credentials,
                 std::vector<std::string> hosts, const rpc::WallClock& clock, absl::Duration look_every);
  void keep();
  absl::Status renew();

  Members& members_;
  const std::shared_ptr<rpc::Credentials> credentials_;
  const std::vector<std::string> hosts_;
  const rpc::WallClock& clock_;
  const absl::Duration look_every_;
  std::optional<rpc::Certificate> next_;  // until it is in the folder; of the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

// The folder of a member who needs no token, as the first admin needs none. Names and addresses in `hosts`
// are those under which it serves.
absl::Status make_member(Members& members, const std::string& folder, const rpc::Identity& identity,
                         const std::vector<std::string>& hosts = {});

}  // namespace tf::tracker
