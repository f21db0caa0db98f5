// What people see of a farm's job when it is over and its model gone: by the tuner's own service, and by `tuner report` from the
// database.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "proto/tune/v1/report.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/identity/membership.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

namespace pb = tunefarm::tune::v1;
using nlohmann::json;
using testing::HasSubstr;

class Reported : public ServedTuning {
 protected:
  void tune(int trials) {
    wait_for_agent();
    const Result submitted = run("tuner", submission(trials));
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const Result watched = run("tuner", {"watch", "1", "--server", tuner_at_.text()});
    ASSERT_EQ(watched.code, 0) << watched.err;
  }

  template <typename Request, typename Reply>
  Reply ask(grpc::Status (pb::Reports::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
            const Request& request) {
    if (!stub_) stub_ = pb::Reports::NewStub(rpc::make_channel(tuner_at_, nullptr, rpc::Role::kTuner));
    grpc::ClientContext context;
    Reply reply;
    const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }

  // What builds take, by key and time.
  std::map<std::string, std::set<double>> best() {
    const Result result = run("tuner", {"best", "--db", file("tune.db"), "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    std::map<std::string, std::set<double>> times;
    for (const json& each : json::parse(result.out))
      times[each["key"]].insert(each["median_ns"].get<double>());
    return times;
  }

  std::unique_ptr<pb::Reports::Stub> stub_;
};

TEST_F(Reported, AJobIsShownWithItsKernelsProgramsAndNetworkWhenItIsOver) {
  tune(40);
  pb::DescribeJobRequest job;
  job.set_job_id(1);
  const pb::JobCurves curves = ask(&pb::Reports::Stub::DescribeJob, job);
  EXPECT_EQ(curves.tasks_size(), 5);
  uint32_t trials = 0;
  for (const pb::TaskCurve& task : curves.tasks()) {
    trials += task.trials();
    ASSERT_GT(task.best().ns_size(), 0) << task.label();
    EXPECT_GT(task.untuned_ns(), 0) << task.label();
  }
  EXPECT_EQ(trials, 40u);
  ASSERT_GT(curves.network().ns_size(), 0);
  EXPECT_LE(curves.network().ns(curves.network().ns_size() - 1), curves.network().ns(0));

  pb::ListKernelsRequest list;
  list.set_job_id(1);
  const pb::ListKernelsReply kernels = ask(&pb::Reports::Stub::ListKernels, list);
  const auto times = best();
  double share = 0;
  for (const pb::KernelRow& row : kernels.kernels()) {
    pb::DescribeKernelRequest kernel;
    kernel.set_kernel_id(row.kernel_id());
    const pb::KernelReport report = ask(&pb::Reports::Stub::DescribeKernel, kernel);
    ASSERT_TRUE(times.contains(report.key().workload())) << row.label();
    EXPECT_TRUE(times.at(report.key().workload()).contains(report.row().best_ns())) << row.label();
    EXPECT_GT(report.peaks().flops_per_s(), 0);
    EXPECT_GT(report.bytes(), 0);
    share += row.share();
  }
  EXPECT_NEAR(share, 1, 1e-9);

  pb::ShowProgramRequest program;
  program.set_kernel_id(kernels.kernels(0).kernel_id());
  EXPECT_THAT(ask(&pb::Reports::Stub::ShowProgram, program).assembly(), HasSubstr("kernel"));
  EXPECT_THAT(ask(&pb::Reports::Stub::ShowProgram, program).ir(), HasSubstr("for"));

  pb::DescribeNetworkRequest request;
  request.set_job_id(1);
  const pb::NetworkReport network = ask(&pb::Reports::Stub::DescribeNetwork, request);
  EXPECT_EQ(network.name(), "mlp.onnx");
  EXPECT_GT(network.best_ns(), 0);
  std::set<std::string> called;
  for (const pb::NetworkCall& call : network.calls()) {
    EXPECT_GT(call.nodes_size(), 0);
    EXPECT_GT(call.best_ns(), 0) << call.label();
    called.insert(call.kernel_id());
  }
  for (const pb::TaskCurve& task : curves.tasks())
    EXPECT_TRUE(called.contains(task.kernel_id())) << task.label();

  // The same from the file, while the tuner has it.
  const Result report = run("tuner", {"report", "--db", file("tune.db"), "--json", "--programs", "1"});
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(report.err, HasSubstr("programs: 2 of 2"));
  const json answers = json::parse(report.out)["answers"];
  EXPECT_EQ(answers["Reports/DescribeNetwork {\"jobId\":\"1\"}"]["bestNs"], network.best_ns());
  EXPECT_EQ(answers["Reports/DescribeJob {\"jobId\":\"1\"}"]["network"]["ns"].size(),
            static_cast<size_t>(curves.network().ns_size()));
  EXPECT_THAT(answers["Reports/ShowProgram {\"kernelId\":\"" + kernels.kernels(0).kernel_id() + "\"}"]["ir"],
              ask(&pb::Reports::Stub::ShowProgram, program).ir());

  expect_refusal("tuner", {"report", "--db", file("tune.db"), "--json", "--job", "9"}, 1, "9");
  expect_refusal("tuner", {"report", "--db", file("tune.db")}, 2, "give -o FILE");
  expect_refusal("tuner", {"report", "--db", "tuner://127.0.0.1:1", "--json"}, 2, "a database FILE");
}

class ReportedAlone : public Tuning {};

TEST_F(ReportedAlone, ARunWithoutAFarmIsAJobLikeOthers) {
  expect_refusal("tuner", {"report", "--db", file("none.db"), "--json"}, 1, "there is no database");
  const Result tuned = run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file("own.db"),
                                     "--trials", "10", "--without-sandbox", "missing"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Result report = run("tuner", {"report", "--db", file("own.db"), "--json", "--programs", "0"});
  ASSERT_EQ(report.code, 0) << report.err;
  const json answers = json::parse(report.out)["answers"];
  EXPECT_EQ(answers["Reports/DescribeNetwork {\"jobId\":\"1\"}"]["name"], "mlp.onnx");
  EXPECT_EQ(answers["Reports/DescribeJob {\"jobId\":\"1\"}"]["tasks"].size(), 5u);
}

}  // namespace
}  // namespace tf::integration_test
