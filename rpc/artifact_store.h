#pragma once
// Owns: a folder of content-addressed bytes with a size bound: the tracker's relay store and the agent's
// cache. Does not know: what the bytes mean, or who else may want them.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"

namespace tf::rpc {

// Thread-safe. A file is named by its digest and verified each time it is read, so that files need no fsync:
// one that a crash tore is the same as one that is missing.
class ArtifactStore {
 public:
  // Makes the folder if need be and takes in what it holds. The least recently used go first when max_bytes
  // is exceeded.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> open(const std::string& folder, uint64_t max_bytes);

  // INVALID_ARGUMENT: the bytes do not have the digest. RESOURCE_EXHAUSTED: larger than the whole store.
  // Storing what is there already is cheap.
  absl::Status put(const Digest& digest, std::string_view bytes);
  // The bytes, verified. NOT_FOUND: never stored, evicted, or found damaged (then it is removed).
  absl::StatusOr<std::string> get(const Digest& digest);
  // Also counts as a use.
  bool contains(const Digest& digest);
  uint64_t size_bytes() const;

 private:
  struct Entry {
    uint64_t size_bytes = 0;
    std::list<Digest>::iterator use;
  };

  ArtifactStore(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  absl::Status scan();
  std::string path(const Digest& digest) const { return folder_ + "/" + digest.hex(); }
  void admit(const Digest& digest, uint64_t size_bytes);  // mutex_ is held
  void remove(const Digest& digest);                      // mutex_ is held

  const std::string folder_;
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::map<Digest, Entry> entries_;
  std::list<Digest> uses_;  // the least recent first
  uint64_t size_bytes_ = 0;
};

}  // namespace tf::rpc
