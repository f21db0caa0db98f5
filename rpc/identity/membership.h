#pragma once
// Owns: how a program becomes a member of a farm and stays one: joining with a token, and the thread that
// renews the certificate and hears of revocations. Does not know: who lets it in (tracker/ca).

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/credentials.h"

namespace tf::rpc {

struct JoinOptions {
  Endpoint tracker;
  std::string token;   // what `tracker ca token` printed
  std::string name;    // asked for, unless the token names its holder
  std::string folder;  // that --tls will name; made
  // That the joiner has a use for; empty: any. A tracker of before asks nothing of it.
  std::vector<std::string> roles = {};
};

// Makes a key in the folder, checks that the tracker is the token's, and fetches the certificate. Errors: of
// the Join call; UNAVAILABLE if no tracker answers there, or another farm's; ALREADY_EXISTS if the folder
// holds a member already.
absl::StatusOr<Identity> join_farm(const JoinOptions& options);

// The name that a joiner asks for unless it is told another: this host's.
std::string default_member_name();

// What `join` commands print.
std::string joined_text(const Identity& identity, const std::string& folder);

// What a keeper does besides renewing. It calls from its own thread.
struct KeeperOptions {
  // Between two looks; also how late revocations are heard of while the tracker answers.
  absl::Duration look_every = absl::Seconds(2);
  // With all revoked serials, at first and when they have changed; null: not asked for.
  std::function<void(const std::set<std::string>&)> revoked = nullptr;
  // Once, with UNAUTHENTICATED: the certificate has ended, or the tracker says that it is revoked.
  std::function<void(const absl::Status&)> ended = nullptr;
};

// Renews the certificate once two thirds of its life are over, and asks for what the tracker has revoked. One
// for each process; its thread ends with it.
class MembershipKeeper {
 public:
  MembershipKeeper(std::shared_ptr<Credentials> credentials, Endpoint tracker, KeeperOptions options = {},
                   const WallClock& clock = real_wall_clock());
  ~MembershipKeeper();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of --tls, for a command that runs only now and then: nothing if it was not given. Renews the certificate if
// it is time and the tracker (empty: the one that the folder names) answers; else it is good until its end.
absl::StatusOr<std::shared_ptr<Credentials>> credentials_of_command(const std::string& folder,
                                                                    const std::string& tracker = "");

}  // namespace tf::rpc
