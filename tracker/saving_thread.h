#pragma once
// Owns: the one thread that writes down what a Farm brings up, so that nobody else waits for the disk. Does
// not know: what is written.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tf::tracker {

class Farm;

class SavingThread {
 public:
  // Sets the farm's callback for what is unsaved. The farm must outlive the thread.
  explicit SavingThread(Farm& farm);
  // Saves what is left.
  ~SavingThread();

 private:
  void run();

  Farm& farm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tf::tracker
