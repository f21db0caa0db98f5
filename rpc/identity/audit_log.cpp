#include "rpc/identity/audit_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

constexpr std::chrono::milliseconds kSyncEvery{100};

absl::StatusOr<OwnedFd> open_file(const std::string& path) {
  OwnedFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() >= 0) return file;
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write the audit log ", path, ": ", std::strerror(errno)));
}

uint64_t size_of(const OwnedFd& file) {
  struct stat there {};
  return ::fstat(file.get(), &there) == 0 ? static_cast<uint64_t>(there.st_size) : 0;
}

std::string cut(const std::string& text) {
  return text.size() <= AuditLog::kLongest ? text : text.substr(0, AuditLog::kLongest) + "...";
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path, const WallClock& clock,
                                                         const AuditLogBounds& bounds) {
  TF_ASSIGN_OR_RETURN(OwnedFd file, open_file(path));
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file), path, clock, bounds));
}

AuditLog::AuditLog(OwnedFd file, std::string path, const WallClock& clock, const AuditLogBounds& bounds)
    : file_(std::move(file)),
      file_bytes_(size_of(file_)),
      path_(std::move(path)),
      clock_(clock),
      bounds_(bounds),
      writer_([this] { write(); }) {}

AuditLog::~AuditLog() {
  {
    const std::scoped_lock lock(mutex_);
    count_left_out();
    stop_ = true;
    changed_.notify_all();
  }
  writer_.join();
}

void AuditLog::record(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  append(line);
}

void AuditLog::record_denial(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  const int64_t second = absl::ToUnixSeconds(clock_.now());
  if (second != second_) count_left_out();
  second_ = second;
  if (++denials_ <= kDenials) append(line);
  if (denials_ == kDenials + 1) changed_.notify_all();  // the writer has a second to wait for
}

// Of the second that is over.
void AuditLog::count_left_out() {
  const int left_out = std::exchange(denials_, 0) - kDenials;
  if (left_out > 0) append({.who = "several", .outcome = absl::StrCat(left_out, " more calls were refused")});
}

void AuditLog::flush() {
  std::unique_lock lock(mutex_);
  const uint64_t until = recorded_;
  ++flushing_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return durable_ >= until; });
  --flushing_;
}

void AuditLog::append(const AuditLine& line) {
  const nlohmann::json json = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", clock_.now(), absl::UTCTimeZone())},
      {"who", cut(line.who)},
      {"method", cut(line.method)},
      {"object", cut(line.object)},
      {"outcome", cut(line.outcome)}};
  pending_ += json_text(json) + "\n";
  ++recorded_;
  changed_.notify_all();
}

void AuditLog::unlocked(std::unique_lock<std::mutex>& lock, const std::function<absl::Status()>& work) {
  lock.unlock();
  const absl::Status done = work();
  if (!done.ok()) spdlog::error("{}", std::string(done.message()));
  lock.lock();
}

void AuditLog::write() {
  using Steady = std::chrono::steady_clock;
  Steady::time_point sync_at = Steady::now();
  std::unique_lock lock(mutex_);
  while (true) {
    if (!pending_.empty()) {
      const std::string text = std::exchange(pending_, {});
      const uint64_t until = recorded_;
      unlocked(lock, [&] { return write_out(text); });
      written_ = until;
    } else if (durable_ < written_ && (stop_ || flushing_ > 0 || Steady::now() >= sync_at)) {
      const uint64_t until = written_;
      unlocked(lock, [&] { return sync(); });
      durable_ = until;
      sync_at = Steady::now() + kSyncEvery;
      changed_.notify_all();
    } else if (stop_) {
      return;
    } else if (durable_ < written_) {
      changed_.wait_until(lock, sync_at);
    } else if (denials_ > kDenials) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      if (absl::ToUnixSeconds(clock_.now()) != second_) count_left_out();
    } else {
      changed_.wait(lock);
    }
  }
}

absl::Status AuditLog::write_out(std::string_view text) {
  if (file_bytes_ >= bounds_.file_bytes) {
    // Rather a file that is too big than lines that are lost.
    if (const absl::Status begun = begin_new_file(); !begun.ok())
      spdlog::error("{}", std::string(begun.message()));
  }
  while (!text.empty()) {
    const ssize_t n = ::write(file_.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.remove_prefix(static_cast<size_t>(n));
    file_bytes_ += static_cast<uint64_t>(n);
  }
  if (text.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the audit log ", path_, " cannot be written (",
                                          std::strerror(errno), "); lost: ", std::string(text)));
}

absl::Status AuditLog::sync() {
  if (::fdatasync(file_.get()) == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the audit log ", path_, " does not reach the disk: ", std::strerror(errno)));
}

absl::Status AuditLog::begin_new_file() {
  TF_RETURN_IF_ERROR(sync());
  const auto old = [&](int i) { return i == 0 ? path_ : absl::StrCat(path_, ".", i); };
  // Where one is missing, that is one move less.
  for (int i = bounds_.old_files; i > 0; --i) std::rename(old(i - 1).c_str(), old(i).c_str());
  if (bounds_.old_files == 0) std::remove(path_.c_str());
  TF_ASSIGN_OR_RETURN(file_, open_file(path_));
  file_bytes_ = size_of(file_);
  return absl::OkStatus();
}

}  // namespace tf::rpc
