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
  changed_.wait(lock, [&] { return durable_ >= until; });
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

void AuditLog::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto is_asked = [this] { return stop_ || !pending_.empty(); };
    if (denials_ <= kDenials) {
      changed_.wait(lock, [&] { return is_asked() || denials_ > kDenials; });
    } else {
      changed_.wait_for(lock, std::chrono::seconds(1), is_asked);
      if (absl::ToUnixSeconds(clock_.now()) != second_) count_left_out();
    }
    if (!is_asked()) continue;
    if (pending_.empty()) return;
    const std::string text = std::exchange(pending_, {});
    const uint64_t until = recorded_;
    lock.unlock();
    const absl::Status written = write_out(text);
    if (!written.ok()) spdlog::error("{}", std::string(written.message()));
    lock.lock();
    durable_ = until;
    changed_.notify_all();
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
  if (text.empty() && ::fdatasync(file_.get()) == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the audit log ", path_, " cannot be written (",
                                          std::strerror(errno), "); lost: ", std::string(text)));
}

absl::Status AuditLog::begin_new_file() {
  const auto old = [&](int i) { return i == 0 ? path_ : absl::StrCat(path_, ".", i); };
  // Where one is missing, that is one move less.
  for (int i = bounds_.old_files; i > 0; --i) std::rename(old(i - 1).c_str(), old(i).c_str());
  if (bounds_.old_files == 0) std::remove(path_.c_str());
  TF_ASSIGN_OR_RETURN(file_, open_file(path_));
  file_bytes_ = size_of(file_);
  return absl::OkStatus();
}

}  // namespace tf::rpc
