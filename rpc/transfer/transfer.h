#pragma once
// Owns: how artifacts are cut into chunks and put together again, and how slowly they may come. Does not
// know: which RPC carries the chunks.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"

namespace tf::rpc {

// What moves of a transfer is seen chunk by chunk, so that this is the least that has to move within a step.
inline constexpr uint64_t kChunkBytes = 64 << 10;
inline constexpr uint64_t kMaxArtifactBytes = 256 << 20;

// How long a chunk of a transfer may take to move, and what a peer does before the first and after the last
// of them: about as long as one that answers no ping is believed in.
inline constexpr absl::Duration kLongestStep = absl::Seconds(10);

// How long the chunks of so many bytes may take together, on the slowest line that carries any.
inline absl::Duration longest_transfer(uint64_t bytes) {
  return kLongestStep * (static_cast<double>(bytes) / kChunkBytes);
}

struct Chunk {
  std::string_view digest;  // hexadecimal; first chunk only
  uint64_t size_bytes = 0;  // of all content; first chunk only
  std::string_view content;
};

// Calls send for each chunk in order, at least once; stops and returns false as soon as send does.
bool send_chunks(const Digest& digest, std::string_view bytes, const std::function<bool(const Chunk&)>& send);

// Bytes and their digest, as Assembler has verified it.
struct Received {
  Digest digest;
  std::string bytes;
};

// Puts one artifact together, and takes its digest while it comes, so that its end costs nothing. Not
// thread-safe.
class Assembler {
 public:
  enum class Digests { kNeeded, kWhereGiven };
  explicit Assembler(uint64_t max_bytes = kMaxArtifactBytes, Digests digests = Digests::kNeeded)
      : max_bytes_(max_bytes), may_lack_digest_(digests == Digests::kWhereGiven) {}
  // INVALID_ARGUMENT: no digest in the first chunk that needs one, none of the content in a later one, or more than
  // announced. RESOURCE_EXHAUSTED: too large.
  absl::Status add(const Chunk& chunk);
  // The whole artifact, verified. INVALID_ARGUMENT: bytes are missing, or the digest is another.
  absl::StatusOr<Received> finish() &&;

 private:
  const uint64_t max_bytes_;
  const bool may_lack_digest_;
  bool checks_ = true;  // the sender has said what it is to be
  bool started_ = false;
  uint64_t size_bytes_ = 0;
  Received received_;
  Sha256 sha256_;  // of what has come
};

}  // namespace tf::rpc
