#include "tuner/service/turn.h"

namespace tf::service {

Turn turn_of(int64_t job, int priority, const std::string& submitter, const rpc::UsageLedger& running) {
  const double cost = running.cost(submitter);
  return {.negative_priority = -priority, .cost = cost < 1 ? 0 : cost, .job = job};
}

}  // namespace tf::service
