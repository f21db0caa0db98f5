#pragma once
// Owns: what this process logs, for tests that look at it. Does not know: who logs.

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tf {

// From its construction to its end. Thread-safe.
class CapturedLog {
 public:
  CapturedLog() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink_)); }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // In how many lines that stands.
  int count(const std::string& part) const {
    const std::vector<std::string> lines = sink_->lines();
    return static_cast<int>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : sink_->lines()) all += line + "\n";
    return all;
  }

 private:
  class Sink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::vector<std::string> lines() {
      const std::scoped_lock lock(mutex_);
      return lines_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      lines_.emplace_back(message.payload.data(), message.payload.size());
    }
    void flush_() override {}

    std::vector<std::string> lines_;
  };

  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

}  // namespace tf
