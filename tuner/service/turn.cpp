#include "tuner/service/turn.h"

namespace tf::service {

Turn turn_of(int64_t job, int priority, double cost) {
  return {.negative_priority = -priority, .cost = cost < 1 ? 0 : cost, .job = job};
}

}  // namespace tf::service
