#pragma once
// Owns: getting artifacts by digest: from the cache on disk, else from the tracker. Does not know: who needs
// them.

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/artifact_store.h"

namespace grpc {
class Channel;
}

namespace tf::agent {

// Thread-safe; one download at a time, so that a trial that waits for an artifact joins its prefetch.
class ArtifactFetcher {
 public:
  ArtifactFetcher(std::shared_ptr<grpc::Channel> channel, std::unique_ptr<rpc::ArtifactStore> cache);
  // Verified bytes. INVALID_ARGUMENT: not a digest. NOT_FOUND: the tracker does not have it. UNAVAILABLE and
  // DEADLINE_EXCEEDED: try again.
  absl::StatusOr<std::string> get(const std::string& digest);

  // Makes a later get() fast, if it can.
  void prefetch(const std::string& digest);

 private:
  absl::StatusOr<std::string> download(const Digest& digest);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<rpc::ArtifactStore> cache_;
  std::mutex downloading_;
};

}  // namespace tf::agent
