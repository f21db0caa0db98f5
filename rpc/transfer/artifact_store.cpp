#include "rpc/transfer/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/status.h"
#include "base/testing/failpoint.h"

namespace tf::rpc {
namespace {

constexpr const char* kTemporarySuffix = ".part";

// Unique within the process; another process has another folder.
std::string temporary_path(const std::string& path) {
  static std::atomic<uint64_t> count = 0;
  return absl::StrCat(path, ".", getpid(), ".", count++, kTemporarySuffix);
}

// 0, or an errno.
int write_whole(const std::string& path, std::string_view bytes) {
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::open(const std::string& folder,
                                                                   uint64_t max_bytes,
                                                                   uint64_t most_memory_bytes,
                                                                   const Clock& clock) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make the artifact folder ", folder, ": ",
                                                    error.message(), "; choose a writable folder"));
  }
  auto store = std::unique_ptr<ArtifactStore>(new ArtifactStore(folder, max_bytes, most_memory_bytes, clock));
  TF_RETURN_IF_ERROR(store->scan());
  return store;
}

absl::Status ArtifactStore::scan() {
  struct Found {
    std::filesystem::file_time_type used;
    Digest digest;
    uint64_t size_bytes;
  };
  std::vector<Found> found;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
    std::error_code ignored;  // a file may vanish under us; then it is simply not there
    const std::string name = file.path().filename().string();
    if (name.ends_with(kTemporarySuffix)) {
      std::filesystem::remove(file.path(), ignored);
      continue;
    }
    const absl::StatusOr<Digest> digest = Digest::from_hex(name);
    const uint64_t size_bytes = file.file_size(ignored);
    if (digest.ok() && !ignored) found.push_back({file.last_write_time(ignored), *digest, size_bytes});
  }
  if (error) return absl::PermissionDeniedError(absl::StrCat("cannot read ", folder_, ": ", error.message()));
  std::ranges::sort(found, {}, &Found::used);
  const std::scoped_lock lock(mutex_);
  for (const Found& file : found) admit(file.digest, file.size_bytes, "");  // who put it there is forgotten
  return absl::OkStatus();
}

absl::Status ArtifactStore::put(const Digest& digest, std::string_view bytes) {
  if (sha256(bytes) != digest) {
    return absl::InvalidArgumentError(
        absl::StrCat("artifact ", digest.hex(), " does not match its digest: send it again"));
  }
  return put_verified(digest, bytes, "");
}

absl::Status ArtifactStore::put(const Received& received, const std::string& whose) {
  return put_verified(received.digest, received.bytes, whose);
}

absl::Status ArtifactStore::put_verified(const Digest& digest, std::string_view bytes,
                                         const std::string& whose) {
  if (bytes.size() > max_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("artifact of ", bytes.size(),
                                                     " bytes is larger than the store's ", max_bytes_,
                                                     ": enlarge the store"));
  }
  if (contains(digest)) return absl::OkStatus();
  {
    const std::scoped_lock lock(mutex_);
    if (!make_room(bytes.size(), max_bytes_, whose)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot store an artifact of ", bytes.size(), " bytes: artifacts in use fill the store of ",
          max_bytes_, " bytes in ", folder_, "; enlarge the store"));
    }
  }
  int error = write(digest, bytes);
  if (error == ENOSPC || error == EDQUOT) {
    // Others fill the disk too: what nobody needs now makes way.
    {
      const std::scoped_lock lock(mutex_);
      make_room(0, size_bytes_ - std::min<uint64_t>(size_bytes_, 2 * bytes.size()), whose);
    }
    error = write(digest, bytes);
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot store an artifact in ", folder_, ": ",
                                               std::strerror(error),
                                               "; free space there or make it writable"));
  }
  const std::scoped_lock lock(mutex_);
  admit(digest, bytes.size(), whose);
  return absl::OkStatus();
}

int ArtifactStore::write(const Digest& digest, std::string_view bytes) {
  const std::string part = temporary_path(path(digest));
  int error = write_whole(part, bytes);
  killpoint("artifact.written");
  if (error == 0 && rename(part.c_str(), path(digest).c_str()) != 0) error = errno;
  if (error == 0) {
    killpoint("artifact.named");
  } else {
    unlink(part.c_str());
  }
  return error;
}

absl::StatusOr<std::string> ArtifactStore::get(const Digest& digest) {
  const auto missing = [&] {
    return absl::NotFoundError(absl::StrCat("artifact ", digest.hex(), " is not stored here"));
  };
  if (!contains(digest)) return missing();
  absl::StatusOr<std::string> bytes = read_file(path(digest));
  if (bytes.ok() && sha256(*bytes) == digest) {
    // So that the next process knows the order of uses.
    utimensat(AT_FDCWD, path(digest).c_str(), nullptr, 0);
    return bytes;
  }
  // What this process lacks, descriptors or memory, says nothing of the file.
  if (absl::IsResourceExhausted(bytes.status())) return absl::UnavailableError(bytes.status().message());
  const std::scoped_lock lock(mutex_);
  unlink(path(digest).c_str());
  forget(digest);  // in any case: it is to be stored anew, over what is there
  return missing();
}

bool ArtifactStore::contains(const Digest& digest) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(digest);
  if (entry == entries_.end()) return false;
  uses_.splice(uses_.end(), uses_, entry->second.use);
  Uses& own = entry->second.holding->second.uses;
  own.splice(own.end(), own, entry->second.own_use);
  return true;
}

std::optional<uint64_t> ArtifactStore::size_of(const Digest& digest) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(digest);
  return entry == entries_.end() ? std::nullopt : std::optional(entry->second.size_bytes);
}

uint64_t ArtifactStore::size_bytes() const {
  const std::scoped_lock lock(mutex_);
  return size_bytes_;
}

absl::StatusOr<std::vector<std::string>> ArtifactStore::missing(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(name));
    if (!contains(digest)) missing.push_back(name);
  }
  return missing;
}

ArtifactStore::Pin ArtifactStore::pin(const Digest& digest) {
  const std::scoped_lock lock(mutex_);
  ++pins_[digest];
  return Pin(*this, digest);
}

void ArtifactStore::unpin(const Digest& digest) {
  const std::scoped_lock lock(mutex_);
  const auto pin = pins_.find(digest);
  if (--pin->second == 0) pins_.erase(pin);
  make_room(0, max_bytes_);
}

void ArtifactStore::admit(const Digest& digest, uint64_t size_bytes, const std::string& whose) {
  if (entries_.contains(digest)) return;
  std::erase_if(holdings_, [](const auto& each) { return each.second.uses.empty(); });
  const auto holding = holdings_.try_emplace(whose).first;
  Uses& own = holding->second.uses;
  entries_[digest] = {.size_bytes = size_bytes,
                      .use = uses_.insert(uses_.end(), digest),
                      .holding = holding,
                      .own_use = own.insert(own.end(), digest)};
  size_bytes_ += size_bytes;
  holding->second.size_bytes += size_bytes;
  make_room(0, max_bytes_, whose);
}

bool ArtifactStore::make_room(uint64_t bytes, uint64_t most_bytes, const std::string& whose) {
  const auto own = whose.empty() ? holdings_.end() : holdings_.find(whose);
  if (own != holdings_.end() && own->second.size_bytes + bytes > max_bytes_ / 2)
    evict(own->second.uses, bytes, most_bytes);
  evict(uses_, bytes, most_bytes);
  return size_bytes_ + bytes <= most_bytes;
}

void ArtifactStore::evict(const Uses& uses, uint64_t bytes, uint64_t most_bytes) {
  auto use = uses.begin();
  while (size_bytes_ + bytes > most_bytes && use != uses.end()) {
    const Digest oldest = *use++;
    if (pins_.contains(oldest)) continue;
    // What cannot be removed goes on to take its room.
    if (unlink(path(oldest).c_str()) == 0 || errno == ENOENT) forget(oldest);
  }
}

void ArtifactStore::forget(const Digest& digest) {
  const auto entry = entries_.find(digest);
  if (entry == entries_.end()) return;
  Holding& holding = entry->second.holding->second;
  holding.size_bytes -= entry->second.size_bytes;
  holding.uses.erase(entry->second.own_use);
  size_bytes_ -= entry->second.size_bytes;
  uses_.erase(entry->second.use);
  entries_.erase(entry);
}

}  // namespace tf::rpc
