#pragma once
// Owns: the two threads of a Farm in a daemon: one writes down what it brings up, so that nobody else waits for
// the disk; the other makes time pass for it, and sleeps until its next deadline, not longer, not shorter. Does
// not know: what is written, what is over.

#include "rpc/clock.h"
#include "rpc/periodic_task.h"

namespace tf::tracker {

class Farm;

class FarmThreads {
 public:
  // Sets the farm's callbacks. Farm and clock must outlive the threads.
  FarmThreads(Farm& farm, const rpc::Clock& clock);
  // Saves what is left.
  ~FarmThreads();

 private:
  Farm& farm_;
  rpc::PeriodicTask saving_;
  rpc::PeriodicTask timer_;
};

}  // namespace tf::tracker
