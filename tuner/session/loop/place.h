#pragma once
// Owns: where a candidate stands among those that wait to be built or measured, for whoever handed it out to
// change. Does not know: who waits, for what.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "tuner/model/learned/features.h"

namespace tf::session {

// Thread-safe. The lowest number goes first.
class Place {
 public:
  explicit Place(uint64_t number) : number_(number) {}
  uint64_t number() const { return number_; }
  void move(uint64_t number) { number_ = number; }

  // It need not go at all. What has begun goes on.
  void withdraw() { withdrawn_ = true; }
  bool is_withdrawn() const { return withdrawn_; }

  // It goes to the device, and stays marked so.
  void begin_measuring() { measured_ = true; }
  bool is_on_device() const { return measured_; }

  // Once, before it is measured.
  void note_code(const std::optional<model::CodeFacts>& code) {
    const std::scoped_lock lock(mutex_);
    code_ = code;
  }
  // Nothing: it is not built yet, or its compiler tells nothing.
  std::optional<model::CodeFacts> code() const {
    const std::scoped_lock lock(mutex_);
    return code_;
  }

 private:
  std::atomic<uint64_t> number_;
  std::atomic<bool> withdrawn_{false}, measured_{false};
  mutable std::mutex mutex_;
  std::optional<model::CodeFacts> code_;
};

}  // namespace tf::session
