#include "rpc/access/audit_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"

namespace tf::rpc {
namespace {

constexpr absl::Duration kSyncEvery = absl::Milliseconds(100);
constexpr absl::Duration kTryEvery = absl::Seconds(1);

// Whoever reads the log does so on a terminal, and sees where something is missing.
std::string kept(const std::string& text) {
  return printable(text, AuditLog::kLongest) + (text.size() > AuditLog::kLongest ? "..." : "");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path, const WallClock& clock,
                                                         const AuditFileBounds& bounds) {
  TF_ASSIGN_OR_RETURN(AuditFile changes, AuditFile::open(path, bounds));
  TF_ASSIGN_OR_RETURN(AuditFile routine, AuditFile::open(path + ".routine", bounds));
  TF_ASSIGN_OR_RETURN(AuditFile denied, AuditFile::open(path + ".denied", bounds));
  return std::unique_ptr<AuditLog>(
      new AuditLog({std::move(changes), std::move(routine), std::move(denied)}, clock));
}

AuditLog::AuditLog(std::array<AuditFile, kParts> files, const WallClock& clock)
    : files_(std::move(files)),
      clock_(clock),
      writing_([this] { return write(); }, absl::InfiniteDuration()) {}

AuditLog::~AuditLog() {
  writing_.stop();
  try_at_ = {};
  {
    const std::scoped_lock lock(mutex_);
    count_left_out();
    ++flushing_;
  }
  do {
    write();
  } while (failing_.ok() && durable_ < recorded_);
}

void AuditLog::record(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  append(kChanges, line);
}

void AuditLog::record_routine(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  append(kRoutine, line);
}

void AuditLog::record_denial(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  const int64_t second = absl::ToUnixSeconds(clock_.now());
  if (second != second_) count_left_out();
  second_ = second;
  const int denials = ++denials_[line.who];
  if (denials <= kDenials) append(kDenied, line);
  if (denials == kDenials + 1) {
    leaves_out_ = true;
    writing_.wake();  // has a second to wait for
  }
}

// Of the second that is over.
void AuditLog::count_left_out() {
  leaves_out_ = false;
  for (const auto& [who, denials] : std::exchange(denials_, {})) {
    if (denials <= kDenials) continue;
    append(kDenied, {.who = who, .outcome = absl::StrCat(denials - kDenials, " more calls were refused")});
  }
}

absl::Status AuditLog::writable() const {
  const std::scoped_lock lock(mutex_);
  if (failing_.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(std::string(failing_.message()), "; changes need it: free disk space or repair the disk"));
}

absl::Status AuditLog::flush() {
  std::unique_lock lock(mutex_);
  const uint64_t until = recorded_;
  const uint64_t failures = failures_;
  ++flushing_;
  writing_.wake();
  // A failure that was under way may be of what came before; the next one is not.
  changed_.wait(lock, [&] { return durable_ >= until || failures_ >= failures + 2; });
  --flushing_;
  return durable_ >= until ? absl::OkStatus() : failing_;
}

void AuditLog::append(Part part, const AuditLine& line) {
  const nlohmann::json json = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", clock_.now(), absl::UTCTimeZone())},
      {"who", kept(line.who)},
      {"method", kept(line.method)},
      {"object", kept(line.object)},
      {"outcome", kept(line.outcome)}};
  const std::string text = json_text(json) + "\n";
  if (!failing_.ok() && waiting_bytes_ + text.size() > kMostWaiting) {
    ++lost_;
    return;
  }
  pending_[part] += text;
  waiting_bytes_ += text.size();
  ++recorded_;
  writing_.wake();
}

void AuditLog::fail(const absl::Status& why) {
  if (failing_.ok())
    spdlog::error(absl::StrCat(why.message(), "; calls that change the farm are refused until then"));
  failing_ = why;
  ++failures_;
  changed_.notify_all();
}

void AuditLog::mend() {
  if (!failing_.ok()) spdlog::info("the audit log is writable again");
  failing_ = absl::OkStatus();
  if (const uint64_t lost = std::exchange(lost_, 0); lost > 0) {
    append(kChanges, {.who = "the audit log",
                      .outcome = absl::StrCat(lost, " lines were lost while it was not writable")});
  }
  changed_.notify_all();
}

absl::Duration AuditLog::write() {
  const Instant now = real_clock().now();
  std::unique_lock lock(mutex_);
  if (leaves_out_ && absl::ToUnixSeconds(clock_.now()) != second_) count_left_out();
  if (now < try_at_) return try_at_ - now;
  for (size_t i = 0; i < kParts; ++i) unwritten_[i] += std::exchange(pending_[i], {});
  const uint64_t until = recorded_;
  const bool syncs = flushing_ > 0 || now >= sync_at_;
  lock.unlock();
  absl::Status done;
  size_t bytes = 0;
  for (size_t i = 0; i < kParts; ++i) {
    const absl::Status one = files_[i].append(unwritten_[i]);
    done.Update(one);
    if (one.ok()) bytes += std::exchange(unwritten_[i], {}).size();
  }
  if (done.ok() && syncs) {
    for (AuditFile& file : files_) done.Update(file.sync());
    sync_at_ = now + kSyncEvery;
  }
  lock.lock();
  waiting_bytes_ -= bytes;
  if (!done.ok()) {
    fail(done);
    try_at_ = now + kTryEvery;
    return kTryEvery;
  }
  if (syncs) {
    durable_ = until;
    mend();
  }
  if (durable_ < recorded_) return std::max(absl::ZeroDuration(), sync_at_ - now);
  return leaves_out_ ? absl::Seconds(1) : absl::InfiniteDuration();
}

}  // namespace tf::rpc
