#pragma once
// Owns: what Ctrl-C means to a command that has something to clean up.

#include <functional>
#include <thread>

namespace tf::compiler_cli {

// While it lives, the first SIGINT or SIGTERM calls `on_interrupt` on a thread of its own; the second, be it
// the same or the other, ends the process at once. A signal that the process ignores stays ignored.
// Afterwards both do what they did before. One instance at a time.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> on_interrupt);
  ~OnInterrupt();

 private:
  std::thread watcher_;
};

}  // namespace tf::compiler_cli
