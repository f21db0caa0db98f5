#pragma once
// Owns: whose turn it is on CPUs where candidates are timed and this process computes, too: one candidate is
// timed, or one thread searches or learns. Does not know: what any of them does.

#include <mutex>

namespace tf::session {

// Thread-safe. Elsewhere nobody waits for anybody.
class CpuTurn {
 public:
  explicit CpuTurn(bool is_shared = false) : is_shared_(is_shared) {}

  using Hold = std::unique_lock<std::mutex>;
  Hold take() { return is_shared_ ? Hold(mutex_) : Hold(); }
  // Null: there is nobody to wait for.
  static Hold take(CpuTurn* cpu) { return cpu != nullptr ? cpu->take() : Hold(); }

 private:
  const bool is_shared_;
  std::mutex mutex_;
};

// Gives a turn away for as long as it lives: whoever has it waits for somebody who may need it.
class WithoutTurn {
 public:
  explicit WithoutTurn(CpuTurn::Hold& hold) : hold_(hold), had_it_(hold.owns_lock()) {
    if (had_it_) hold_.unlock();
  }
  ~WithoutTurn() {
    if (had_it_) hold_.lock();
  }
  WithoutTurn(const WithoutTurn&) = delete;
  WithoutTurn& operator=(const WithoutTurn&) = delete;

 private:
  CpuTurn::Hold& hold_;
  const bool had_it_;
};

}  // namespace tf::session
