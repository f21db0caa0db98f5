#include "tuner/report/kernel_id.h"

#include "base/digest.h"

namespace tf::report {

std::string kernel_id(const tensor::KernelKey& key) {
  return sha256(tensor::to_string(key)).hex().substr(0, 16);
}

}  // namespace tf::report
