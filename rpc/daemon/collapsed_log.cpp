#include "rpc/daemon/collapsed_log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/clock.h"
#include "rpc/daemon/log_fields.h"
#include "rpc/periodic_task.h"

namespace tf::rpc {
namespace {

// Beyond so many different records in a window each is written as it comes.
constexpr size_t kMostRemembered = 1000;

class CollapsedLog final : public spdlog::sinks::sink {
 public:
  CollapsedLog(std::shared_ptr<spdlog::sinks::sink> to, absl::Duration window)
      : to_(std::move(to)), window_(window), telling_([this] { return tell_counts(real_clock().now()); }) {}

  ~CollapsedLog() override {
    telling_.stop();
    tell_counts(absl::InfiniteDuration());
  }

  void log(const spdlog::details::log_msg& record) override {
    const std::scoped_lock lock(mutex_);
    const Key key{record.level, std::string(record.payload.data(), record.payload.size()),
                  LogFields::present()};
    if (const auto found = recent_.find(key); found != recent_.end()) {
      ++found->second.again;
      return;
    }
    to_->log(record);
    if (recent_.size() >= kMostRemembered) return;
    if (recent_.empty()) telling_.wake();
    recent_[key] = {.until = real_clock().now() + window_,
                    .logger = std::string(record.logger_name.data(), record.logger_name.size())};
  }

  void flush() override { to_->flush(); }
  void set_pattern(const std::string& pattern) override { to_->set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> format) override {
    to_->set_formatter(std::move(format));
  }

 private:
  struct Key {
    spdlog::level::level_enum level;
    std::string text;
    std::vector<LogField> fields;
    auto operator<=>(const Key&) const = default;
  };
  struct Recent {
    Instant until;
    std::string logger;
    uint64_t again = 0;
  };

  // Of windows that are over by then; until it is to be called again.
  absl::Duration tell_counts(Instant now) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(recent_, [&](const auto& each) {
      const bool is_due = each.second.until <= now;
      if (is_due && each.second.again > 0) tell(each.first, each.second);
      return is_due;
    });
    return recent_.empty() ? absl::InfiniteDuration() : window_;
  }

  void tell(const Key& key, const Recent& recent) {
    const std::string text =
        absl::StrCat(key.text, " (", recent.again, recent.again == 1 ? " more time" : " more times",
                     " within ", absl::FormatDuration(window_), ")");
    const LogFields about(key.fields);
    const LogFields repeated({{"repeated", absl::StrCat(recent.again), true}});
    to_->log(spdlog::details::log_msg(recent.logger, key.level, text));
  }

  const std::shared_ptr<spdlog::sinks::sink> to_;
  const absl::Duration window_;
  std::mutex mutex_;
  std::map<Key, Recent> recent_;
  PeriodicTask telling_;
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> collapsed_log(std::shared_ptr<spdlog::sinks::sink> to,
                                                   absl::Duration window) {
  return std::make_shared<CollapsedLog>(std::move(to), window);
}

}  // namespace tf::rpc
