#pragma once
// Owns: FarmRunner's unary calls to the tracker: leases and uploads. Does not know: trials.

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/measure/farm_runner.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace tf::measure {

// Thread-safe.
class FarmLink {
 public:
  explicit FarmLink(FarmRunnerOptions options);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Waits for a free slot, at most so long. Errors as FarmRunner::connect; CANCELLED after cancel().
  absl::StatusOr<LeasedDevice> acquire(absl::Duration wait);
  // NOT_FOUND: the lease has ended.
  absl::Status renew(const LeasedDevice& lease);
  void release(const LeasedDevice& lease);

  // Makes sure that the tracker has the artifact; asks only the first time.
  absl::Status upload(const ArtifactBytes& artifact);
  // The tracker has evicted it after all.
  void forget(const std::string& digest);

  // Ends a running acquire() and every later one.
  void cancel();

 private:
  absl::Status send(const ArtifactBytes& artifact);

  const FarmRunnerOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::mutex uploading_;  // one upload at a time: two trials of one reference send it once
  std::mutex mutex_;
  std::set<std::string> uploaded_;
  grpc::ClientContext* acquiring_ = nullptr;
  bool cancelled_ = false;
};

}  // namespace tf::measure
