#include "tuner/measure/pool_builder.h"

#include <utility>

#include "base/status.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::measure {

absl::StatusOr<std::unique_ptr<PoolBuilder>> PoolBuilder::create(driver::BuildPoolOptions options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<driver::BuildPool> pool, driver::BuildPool::create(std::move(options)));
  return std::unique_ptr<PoolBuilder>(new PoolBuilder(std::move(pool)));
}

absl::StatusOr<tunefarm::kernel::v1::BuildReply> PoolBuilder::build(
    const tunefarm::kernel::v1::BuildRequest& request) {
  return pool_->build(request);
}

int PoolBuilder::slots() const {
  return pool_->workers();
}

}  // namespace tf::measure
