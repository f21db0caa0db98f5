#pragma once
// Owns: what SIGINT and SIGTERM mean to a daemon: the first drains, the second stops at once.

#include <memory>

namespace tf::rpc {

class StopSignals {
 public:
  // From now on the signals no longer end the process. One instance a process, made in main. Children that
  // are exec'd get the default handlers back.
  StopSignals();
  ~StopSignals();
  // Blocks until the first signal, or until stop_waiting; returns the signal, or 0. After a signal, a second
  // one ends the process with exit code 130 at once.
  int wait();
  // Makes wait() return. Thread-safe.
  void stop_waiting();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tf::rpc
