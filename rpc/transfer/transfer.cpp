#include "rpc/transfer/transfer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::rpc {

bool send_chunks(const Digest& digest, std::string_view bytes,
                 const std::function<bool(const Chunk&)>& send) {
  const std::string name = digest.hex();
  size_t at = 0;
  do {
    Chunk chunk{.content = bytes.substr(at, kChunkBytes)};
    if (at == 0) {
      chunk.digest = name;
      chunk.size_bytes = bytes.size();
    }
    if (!send(chunk)) return false;
    at += chunk.content.size();
  } while (at < bytes.size());
  return true;
}

absl::Status Assembler::add(const Chunk& chunk) {
  if (!started_) {
    checks_ = !may_lack_digest_ || !chunk.digest.empty();
    if (checks_) {
      TF_ASSIGN_OR_RETURN(received_.digest, Digest::from_hex(chunk.digest));
    }
    if (chunk.size_bytes > max_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("artifact of ", chunk.size_bytes, " bytes: at most ", max_bytes_, " are accepted"));
    }
    size_bytes_ = chunk.size_bytes;
    received_.bytes.reserve(size_bytes_);
    started_ = true;
  } else if (chunk.content.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk of artifact ", received_.digest.hex(), " is empty"));
  }
  if (received_.bytes.size() + chunk.content.size() > size_bytes_) {
    return absl::InvalidArgumentError(absl::StrCat("artifact ", received_.digest.hex(), " exceeds the ",
                                                   size_bytes_, " bytes announced in its first chunk"));
  }
  received_.bytes.append(chunk.content);
  sha256_.add(chunk.content);
  return absl::OkStatus();
}

absl::StatusOr<Received> Assembler::finish() && {
  if (!started_) return absl::InvalidArgumentError("an artifact needs at least one chunk");
  const Digest digest = sha256_.finish();
  if (!checks_) received_.digest = digest;
  if (received_.bytes.size() != size_bytes_ || digest != received_.digest) {
    return absl::InvalidArgumentError(
        absl::StrCat("artifact ", received_.digest.hex(), " arrived damaged: send it again"));
  }
  return std::move(received_);
}

}  // namespace tf::rpc
