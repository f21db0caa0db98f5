#pragma once
// Owns: getting artifacts by digest: from the cache on disk, where holders that come straight put theirs,
// else from the tracker. Does not know: who needs them.

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/transfer/artifact_store.h"
#include "rpc/transfer/transfer_turns.h"

namespace grpc {
class Channel;
}

namespace tf::agent {

// Thread-safe. An artifact is downloaded once at a time, so that a trial that waits for it joins its
// prefetch.
class ArtifactFetcher {
 public:
  ArtifactFetcher(std::shared_ptr<grpc::Channel> channel, std::unique_ptr<rpc::ArtifactStore> cache);
  // Verified bytes. INVALID_ARGUMENT: not a digest. NOT_FOUND: the tracker does not have it. UNAVAILABLE (no
  // tracker, or too much is on its way here) and DEADLINE_EXCEEDED (nothing more comes,
  // rpc/transfer/transfer_budget.h): try again. CANCELLED: `end` came first.
  absl::StatusOr<std::string> get(const std::string& digest, const std::stop_token& end = {});

  // Makes a later get() fast, if it can and `end` does not come first: it may take as long as get().
  void prefetch(const std::string& digest, const std::stop_token& end);

  rpc::ArtifactStore& cache() { return *cache_; }

 private:
  absl::StatusOr<std::string> download(const Digest& digest, const std::stop_token& end);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<rpc::ArtifactStore> cache_;
  rpc::TransferTurns turns_;
};

}  // namespace tf::agent
