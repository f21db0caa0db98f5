#pragma once
// Owns: a candidate that an agent has in its cache already, so that no tracker is asked for it.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/digest.h"
#include "rpc/transfer/artifact_store.h"

namespace tf::agent {

inline constexpr char kCandidate[] = "candidate";

inline std::unique_ptr<rpc::ArtifactStore> cache_with_candidate(const std::string& folder) {
  auto store = *rpc::ArtifactStore::open(folder, 1 << 20);
  EXPECT_TRUE(store->put(sha256(kCandidate), kCandidate).ok());
  return store;
}

}  // namespace tf::agent
