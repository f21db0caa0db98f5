#include "rpc/daemon/collapsed_log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <compare>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/clock.h"
#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

// Beyond so many different records in a window each is written as it comes.
constexpr size_t kMostRemembered = 1000;

class CollapsedLog final : public spdlog::sinks::sink {
 public:
  CollapsedLog(std::shared_ptr<spdlog::sinks::sink> to, absl::Duration window)
      : to_(std::move(to)), window_(window), thread_([this] { tell_counts(); }) {}

  ~CollapsedLog() override {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
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
    recent_[key] = {.until = real_clock().now() + window_,
                    .logger = std::string(record.logger_name.data(), record.logger_name.size())};
    changed_.notify_all();
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

  void tell_counts() {
    std::unique_lock lock(mutex_);
    while (true) {
      const bool over = stop_;
      const Instant now = real_clock().now();
      for (auto each = recent_.begin(); each != recent_.end();) {
        const bool is_due = over || each->second.until <= now;
        if (is_due && each->second.again > 0) tell(each->first, each->second);
        each = is_due ? recent_.erase(each) : std::next(each);
      }
      if (over) return;
      if (recent_.empty()) {
        changed_.wait(lock, [this] { return stop_ || !recent_.empty(); });
      } else {
        changed_.wait_for(lock, absl::ToChronoMilliseconds(window_), [this] { return stop_; });
      }
    }
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
  std::condition_variable changed_;
  std::map<Key, Recent> recent_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> collapsed_log(std::shared_ptr<spdlog::sinks::sink> to,
                                                   absl::Duration window) {
  return std::make_shared<CollapsedLog>(std::move(to), window);
}

}  // namespace tf::rpc
