#pragma once
// Owns: a Farm whose agents' and tuners' services answer on loopback, in plain text, by a clock of their own.

#include <grpcpp/grpcpp.h>

#include <memory>

#include "base/files/temporary_folder.h"
#include "rpc/clock.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/service/services.h"

namespace tf::tracker {

class ServedFarmTest : public FarmTest {
 protected:
  void SetUp() override {
    FarmTest::SetUp();
    agents_ = make_agent_service(*farm_, *artifacts_, transfers_);
    tuners_ = make_tuner_service(*farm_, *artifacts_, transfers_);
    server_ = *rpc::Server::start({"127.0.0.1", 0}, {agents_.get(), tuners_.get()});
  }

  void TearDown() override {
    server_->stop(absl::ZeroDuration());
    transfers_.finish();
    FarmTest::TearDown();
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  rpc::FakeClock time_;
  const std::unique_ptr<rpc::ArtifactStore> artifacts_ =
      *rpc::ArtifactStore::open(dir_.path(), 64 << 20, rpc::ArtifactStore::kMostMemoryBytes, time_);
  rpc::CallPool transfers_{{.what = "transfers", .threads = 1}};
  std::unique_ptr<grpc::Service> agents_, tuners_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace tf::tracker
