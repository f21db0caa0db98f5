#include "rpc/random_id.h"

#include <random>

#include "absl/strings/str_format.h"

namespace tf::rpc {

std::string random_id() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

}  // namespace tf::rpc
