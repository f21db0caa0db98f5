#pragma once
// Owns: a folder of content-addressed bytes with a size bound, and how much of it who puts there may fill at
// others' cost: the tracker's relay store and the agent's cache. Does not know: what the bytes mean, or who
// else may want them.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"

namespace tf::rpc {

// Thread-safe. A file is named by its digest and verified each time it is read, so that files need no fsync:
// one that a crash tore is the same as one that is missing.
class ArtifactStore {
 public:
  // While it lives, the artifact is not evicted, also if it comes only later. Must not outlive the store.
  class Pin {
   public:
    Pin(ArtifactStore& store, const Digest& digest) : store_(&store), digest_(digest) {}
    Pin(Pin&& other) noexcept : store_(std::exchange(other.store_, nullptr)), digest_(other.digest_) {}
    Pin& operator=(Pin other) noexcept {
      std::swap(store_, other.store_);
      std::swap(digest_, other.digest_);
      return *this;
    }
    ~Pin() {
      if (store_) store_->unpin(digest_);
    }

   private:
    ArtifactStore* store_;
    Digest digest_;
  };

  // For artifacts on their way in or out: at most so much together, and half of it for a peer that has a name.
  static constexpr uint64_t kMostMemoryBytes = uint64_t{1} << 30;
  TransferBudget& transfers() { return transfers_; }

  // Makes the folder if need be and takes in what it holds. The least recently used go first when max_bytes
  // is exceeded. The clock is that of the transfers.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> open(const std::string& folder, uint64_t max_bytes,
                                                             uint64_t most_memory_bytes = kMostMemoryBytes,
                                                             const Clock& clock = real_clock());

  // INVALID_ARGUMENT: the bytes do not have the digest. RESOURCE_EXHAUSTED: no room beside what is pinned.
  // UNAVAILABLE: the disk is full, although what nobody needs was removed, or cannot be written to. Storing
  // what is there is cheap.
  absl::Status put(const Digest& digest, std::string_view bytes);
  // The same of what was verified when it arrived, which is not done again. Where room is to be made for what
  // is `whose` and he has put more than half of all that there may be, his own goes first. Empty: nobody's,
  // for which the least recently used goes, whosesoever it is.
  absl::Status put(const Received& received, const std::string& whose = "");
  // The bytes, verified. NOT_FOUND: never stored, evicted, or found damaged or unreadable (then it is
  // removed). UNAVAILABLE: this process has no descriptor or memory to read it with.
  absl::StatusOr<std::string> get(const Digest& digest);
  // Also counts as a use.
  bool contains(const Digest& digest);
  // Nothing: it is not here.
  std::optional<uint64_t> size_of(const Digest& digest) const;
  // Those of these digests, in hexadecimal, that it does not contain. INVALID_ARGUMENT: one is no digest.
  absl::StatusOr<std::vector<std::string>> missing(const std::vector<std::string>& names);
  Pin pin(const Digest& digest);
  uint64_t size_bytes() const;

 private:
  using Uses = std::list<Digest>;  // the least recent first
  struct Holding {
    Uses uses;
    uint64_t size_bytes = 0;
  };
  struct Entry {
    uint64_t size_bytes = 0;
    Uses::iterator use;  // among all, and among those of whoever put it there
    std::map<std::string, Holding>::iterator holding;
    Uses::iterator own_use;
  };

  ArtifactStore(std::string folder, uint64_t max_bytes, uint64_t most_memory_bytes, const Clock& clock)
      : folder_(std::move(folder)),
        max_bytes_(max_bytes),
        transfers_({.bytes = most_memory_bytes, .bytes_of_each = most_memory_bytes / 2}, clock) {}
  absl::Status scan();
  std::string path(const Digest& digest) const { return folder_ + "/" + digest.hex(); }
  void unpin(const Digest& digest);
  absl::Status put_verified(const Digest& digest, std::string_view bytes, const std::string& whose);
  // 0, or an errno.
  int write(const Digest& digest, std::string_view bytes);
  // With mutex_ held:
  void admit(const Digest& digest, uint64_t size_bytes, const std::string& whose);
  void forget(const Digest& digest);
  // Removes until so much more fits, beginning with what is `whose` if that is too much. False: what is left
  // is pinned.
  bool make_room(uint64_t bytes, uint64_t most_bytes, const std::string& whose = "");
  // Removes the first of these until so much more fits.
  void evict(const Uses& uses, uint64_t bytes, uint64_t most_bytes);

  const std::string folder_;
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::map<Digest, Entry> entries_;
  Uses uses_;
  std::map<std::string, Holding> holdings_;  // by who put it there; some may be empty
  std::map<Digest, int> pins_;
  TransferBudget transfers_;
  uint64_t size_bytes_ = 0;
};

}  // namespace tf::rpc
