#pragma once
// Owns: what SIGINT, SIGTERM and SIGHUP mean to a daemon: the first of them drains, a second SIGINT or
// SIGTERM stops at once. A terminal that closes sends SIGHUP, perhaps twice; a process that ignores it
// (nohup) goes on to.

#include <memory>
#include <string>

namespace tf::rpc {

class StopSignals {
 public:
  // From now on the signals no longer end the process. One instance a process, made in main. Children that
  // are exec'd get the default handlers back.
  StopSignals();
  ~StopSignals();
  // Blocks until the first signal, or until stop_waiting; returns the signal, or 0. After a signal, another
  // SIGINT or SIGTERM ends the process with exit code 130 at once.
  int wait();
  // Makes wait() return. Thread-safe.
  void stop_waiting();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "SIGTERM", for a log.
std::string signal_text(int signal);

}  // namespace tf::rpc
