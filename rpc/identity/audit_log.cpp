#include "rpc/identity/audit_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"

namespace tf::rpc {

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path, const WallClock& clock) {
  OwnedFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write the audit log ", path, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file), path, clock));
}

AuditLog::AuditLog(OwnedFd file, std::string path, const WallClock& clock)
    : file_(std::move(file)), path_(std::move(path)), clock_(clock), writer_([this] { write(); }) {}

AuditLog::~AuditLog() {
  {
    const std::scoped_lock lock(mutex_);
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
  if (second != second_) {
    const int left_out = std::exchange(denials_, 0) - kDenials;
    second_ = second;
    if (left_out > 0)
      append({.who = "several", .outcome = absl::StrCat(left_out, " more calls were refused")});
  }
  if (++denials_ <= kDenials) append(line);
}

void AuditLog::flush() {
  std::unique_lock lock(mutex_);
  const uint64_t until = recorded_;
  changed_.wait(lock, [&] { return durable_ >= until; });
}

void AuditLog::append(const AuditLine& line) {
  const nlohmann::json json = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", clock_.now(), absl::UTCTimeZone())},
      {"who", line.who},
      {"method", line.method},
      {"object", line.object},
      {"outcome", line.outcome}};
  pending_ += json_text(json) + "\n";
  ++recorded_;
  changed_.notify_all();
}

void AuditLog::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const std::string text = std::exchange(pending_, {});
    const uint64_t until = recorded_;
    lock.unlock();
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t n = ::write(file_.get(), left.data(), left.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;
      left.remove_prefix(static_cast<size_t>(n));
    }
    if (!left.empty() || ::fdatasync(file_.get()) != 0)
      spdlog::error("the audit log {} cannot be written ({}); lost: {}", path_, std::strerror(errno), left);
    lock.lock();
    durable_ = until;
    changed_.notify_all();
  }
}

}  // namespace tf::rpc
