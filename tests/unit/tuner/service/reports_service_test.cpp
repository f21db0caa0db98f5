// Reports of a served tuner over real gRPC on loopback.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "base/files/temporary_folder.h"
#include "database/store.h"
#include "proto/tune/v1/report.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/identity/membership.h"
#include "tests/unit/database/sample_records.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tuner/service/daemon.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

TEST(ReportsService, AnswersFromTheDaemonsDatabaseAsItGrows) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  database::Store* store = nullptr;
  const auto make = [&](database::Store& opened) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
    store = &opened;
    return std::make_unique<ScriptedExecutor>();
  };
  auto daemon = Daemon::start({.listen = {.host = "127.0.0.1"}, .database_path = folder.file("t.db")}, make);
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  const auto stub =
      pb::Reports::NewStub(rpc::make_channel((*daemon)->endpoint(), nullptr, rpc::Role::kTuner));
  const auto list = [&] {
    grpc::ClientContext context;
    pb::ListKernelsReply reply;
    const grpc::Status status = stub->ListKernels(&context, {}, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  };
  EXPECT_EQ(list().total(), 0u);
  ASSERT_TRUE(store->add_workload(database::conv_workload()).ok());
  ASSERT_TRUE(store->insert(database::measured(100)).ok());
  ASSERT_EQ(list().total(), 1u);
  EXPECT_EQ(list().kernels(0).label(), "conv2d+bias+relu");
  pb::ShowProgramRequest show;
  show.set_kernel_id(list().kernels(0).kernel_id());
  grpc::ClientContext context;
  pb::Program program;
  // Its workload is made up.
  EXPECT_EQ(stub->ShowProgram(&context, show, &program).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  grpc::ClientContext unknown;
  pb::DescribeJobRequest job;
  job.set_job_id(7);
  pb::JobCurves curves;
  EXPECT_EQ(stub->DescribeJob(&unknown, job, &curves).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace tf::service
