#pragma once
// Owns: waiting for what will be true soon, so that a test fails instead of hanging when it never is.

#include <chrono>
#include <functional>
#include <thread>

namespace tf::farm_test {

// False: not within half a minute.
inline bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 3000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_true();
}

}  // namespace tf::farm_test
