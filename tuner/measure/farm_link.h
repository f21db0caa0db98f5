#pragma once
// Owns: FarmRunner's connections and unary calls: leases from the tracker, uploads to where the trials go,
// which is the agent itself while it can be reached, else the tracker. Does not know: trials.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/transfer/transfer_turns.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/measure/recent_digests.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace tf::measure {

// Thread-safe.
class FarmLink {
 public:
  // What is asked of a runner ends so after its cancel().
  static absl::Status cancelled();

  explicit FarmLink(FarmRunnerOptions options);

  // To the tracker.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Where the present lease's trials go. Lives as long as somebody uses it.
  struct Route {
    std::shared_ptr<grpc::Channel> channel;
    rpc::Endpoint endpoint;
    std::optional<LeasedDevice> direct;  // the lease that the agent itself serves; none: through the tracker
    RecentDigests uploaded{};            // guarded by the link
  };
  std::shared_ptr<Route> route();
  // What a call that goes that route ended with, which says who was at its other end. May block for a second
  // or two (rpc/connection/grpc_status.h).
  absl::Status error_on(const Route& route, const grpc::Status& ended) const;
  // That one leads to its agent no more: from now on through the tracker, until the next lease. Uploads that
  // are under way on it end, and begin again there.
  void leave_route(const std::shared_ptr<Route>& direct, const std::string& why);

  // Waits for a free slot, at most so long, and sees whether its agent can be reached. Before that it repeats
  // what release() could not say, or has not yet, so that nobody waits for a slot that is leased to himself.
  // Errors as FarmRunner::connect; CANCELLED after cancel().
  absl::StatusOr<LeasedDevice> acquire(absl::Duration wait);
  // Whether its device is away, so that the lease ends soon. NOT_FOUND: the lease has ended. ABORTED: it must
  // make room for another. CANCELLED after cancel().
  absl::StatusOr<bool> renew(const LeasedDevice& lease);
  void release(const LeasedDevice& lease);

  // Makes sure that the artifact is where the trials go; asks only the first time, and again when it was not
  // in use for long. Of one artifact there is one upload at a time, for several trials have one reference;
  // others go beside it. It may take as long as on the slowest line (rpc/transfer/transfer.h); where the
  // agent does not take it, the tracker is asked. CANCELLED after cancel().
  absl::Status upload(const ArtifactBytes& artifact);
  // It has been evicted there after all.
  void forget(const std::string& digest);

  // Ends a running acquire(), renew() or upload() and every later one.
  void cancel();

 private:
  class CancellableCall;

  void try_direct(const LeasedDevice& lease);
  absl::Status repeat_releases();
  absl::Status upload_one(const ArtifactBytes& artifact);
  bool is_uploaded(Route& route, const std::string& digest);
  absl::Status upload_to(const Route& route, const ArtifactBytes& artifact);

  const FarmRunnerOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  rpc::TransferTurns uploads_;
  std::mutex mutex_;
  std::shared_ptr<Route> to_tracker_;
  std::shared_ptr<Route> to_agent_;                 // null: not reached
  std::map<std::string, LeasedDevice> unreleased_;  // by id: that the tracker may still take for ours
  // Those under way that cancel() ends, and leave_route() if they go that route.
  std::map<grpc::ClientContext*, const Route*> calls_;
  std::stop_source end_;  // requested by cancel()
};

}  // namespace tf::measure
