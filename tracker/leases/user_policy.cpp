#include "tracker/leases/user_policy.h"

namespace tf::tracker {

std::string user_of(const std::string& holder) {
  return holder.substr(0, holder.find(':'));
}

}  // namespace tf::tracker
