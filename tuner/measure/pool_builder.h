#pragma once
// Owns: building in the compiler's build workers. Does not know: what it builds.

#include <memory>
#include <utility>

#include "compiler/driver/build_pool.h"
#include "tuner/measure/builder.h"

namespace tf::measure {

// Thread-safe.
class PoolBuilder final : public Builder {
 public:
  // The pool's errors: NOT_FOUND if there is no worker program.
  static absl::StatusOr<std::unique_ptr<PoolBuilder>> create(driver::BuildPoolOptions options);

  absl::StatusOr<tunefarm::kernel::v1::BuildReply> build(
      const tunefarm::kernel::v1::BuildRequest& request) override;
  int slots() const override;
  void pause() override { pool_->pause(); }
  void resume() override { pool_->resume(); }
  void cancel() override { pool_->cancel(); }
  // For builds of other things; the same workers.
  driver::BuildPool& pool() { return *pool_; }

 private:
  explicit PoolBuilder(std::unique_ptr<driver::BuildPool> pool) : pool_(std::move(pool)) {}
  std::unique_ptr<driver::BuildPool> pool_;
};

}  // namespace tf::measure
