// A served tuner over real gRPC on loopback; only the tuning itself is scripted.

#include "tuner/service/daemon.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/stores/open_store.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "tests/support/onnx/model_writer.h"
#include "tests/unit/database/sample_records.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tuner/service/grpc/job_client.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::HasSubstr;

class DaemonTest : public testing::Test {
 protected:
  absl::Status start(uint16_t port = 0, JobQueueOptions queue = {},
                     int most_threads = DaemonOptions().most_threads) {
    queue.retry_after = absl::Milliseconds(20);
    auto made = [this](database::Store& store) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
      store_ = &store;
      auto executor = std::make_unique<ScriptedExecutor>();
      executor_ = executor.get();
      return executor;
    };
    auto daemon = Daemon::start({.listen = {.host = "127.0.0.1", .port = port},
                                 .database_path = folder_.file("t.db"),
                                 .most_model_bytes = 4 << 20,
                                 .most_threads = most_threads,
                                 .queue = queue},
                                made);
    if (!daemon.ok()) return daemon.status();
    daemon_ = *std::move(daemon);
    return absl::OkStatus();
  }

  std::string address() const { return daemon_->endpoint().text(); }
  std::unique_ptr<JobClient> client(const std::string& submitter = "") {
    return *make_job_client(address(), nullptr, submitter);
  }

  bool is_kept(const std::string& model) const {
    return std::filesystem::exists(
        absl::StrCat(folder_.file("t.db"), ".models/", sha256(model).hex(), ".onnx"));
  }
  void expect_end(JobClient& client, int64_t id, JobState state) {
    const auto last = client.watch(id, absl::Seconds(5), [](const JobUpdate&) { return true; });
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(state_of(*last), state);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  ScriptedExecutor* executor_ = nullptr;
  database::Store* store_ = nullptr;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(DaemonTest, ASubmittedModelIsKeptAndItsJobWatchedToItsEnd) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const std::string model(700'000, 'm');  // three chunks
  absl::StatusOr<int64_t> id = client->submit(spec_for("desk"), model);
  ASSERT_TRUE(id.ok()) << id.status();
  executor_->wait_for_starts(1);
  EXPECT_EQ(*read_file(store_->find_job(*id)->model_path), model);
  int seen = 0;
  absl::StatusOr<JobUpdate> last = client->watch(*id, absl::Seconds(5), [&](const JobUpdate& view) {
    if (view.has_progress() && view.progress().trials() >= 3) executor_->end(*id, absl::OkStatus());
    return ++seen < 10'000;
  });
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(state_of(*last), JobState::kDone);
  EXPECT_GE(last->progress().trials(), 3);
  EXPECT_GT(seen, 1);
  EXPECT_EQ(client->list()->at(0).model_digest(), sha256(model).hex());
}

TEST_F(DaemonTest, AModelWithExternalDataIsRefusedAndNotKept) {
  ASSERT_TRUE(start().ok());
  onnx::ModelWriter writer;
  ::onnx::TensorProto& weights = writer.floats("w", {2}, {});
  weights.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value(sha256("the model of another user").hex() + ".onnx");
  writer.output("w");
  const std::string model = writer.bytes();
  EXPECT_EQ(
      client()->submit(spec_for("desk"), model).status(),
      absl::InvalidArgumentError("the data of tensor 'w' are in another file: put them inside the model, "
                                 "as `tuner submit` does"));
  EXPECT_FALSE(is_kept(model));
  EXPECT_TRUE(client()->list()->empty());
}

TEST_F(DaemonTest, AWatchGoesOnAfterARestartOfTheTunerAndSoDoesTheJob) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const int64_t id = *client->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(1);
  const uint16_t port = daemon_->endpoint().port;
  std::thread restart([&] {
    daemon_.reset();
    ASSERT_TRUE(start(port).ok());
    executor_->wait_for_starts(1);
    executor_->end(id, absl::OkStatus());
  });
  absl::StatusOr<JobUpdate> last =
      client->watch(id, absl::Seconds(20), [](const JobUpdate&) { return true; });
  restart.join();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(state_of(*last), JobState::kDone);
}

TEST_F(DaemonTest, AWatchTellsOnceThatNobodyAnswersAndGoesOn) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const int64_t id = *client->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(1);
  const uint16_t port = daemon_->endpoint().port;
  std::atomic<int> away = 0;
  std::thread restart([&] {
    daemon_.reset();
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (away == 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
    ASSERT_TRUE(start(port).ok());
    executor_->wait_for_starts(1);
    executor_->end(id, absl::OkStatus());
  });
  const auto last = client->watch(
      id, absl::Seconds(20), [](const JobUpdate&) { return true; }, [&] { ++away; });
  restart.join();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(state_of(*last), JobState::kDone);
  EXPECT_EQ(away, 1);
}

TEST_F(DaemonTest, AWatchIsAsPatientWhenItHadNoNewsForLong) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const int64_t id = *client->submit(spec_for("desk"), "model");
  ASSERT_TRUE(client->pause(id).ok());
  const uint16_t port = daemon_->endpoint().port;
  constexpr absl::Duration kGracePeriod = absl::Seconds(3);
  std::thread restart([&] {
    absl::SleepFor(kGracePeriod + absl::Milliseconds(200));
    daemon_.reset();
    ASSERT_TRUE(start(port).ok());
    ASSERT_TRUE(this->client()->cancel(id).ok());
  });
  const auto last = client->watch(id, kGracePeriod, [](const JobUpdate&) { return true; });
  restart.join();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(state_of(*last), JobState::kCancelled);
}

TEST_F(DaemonTest, TakesNoMoreThreadsThanItMayHoweverManyWatch) {
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<tunefarm::tune::v1::JobUpdate>> reader;
  };
  constexpr int kThreads = 4, kWatchers = 12;
  ASSERT_TRUE(start(0, {}, kThreads).ok());
  tunefarm::tune::v1::JobName job;
  job.set_job_id(*client()->submit(spec_for("desk"), "model"));
  const auto stub = tunefarm::tune::v1::Tuner::NewStub(rpc::make_channel(daemon_->endpoint()));
  std::vector<std::unique_ptr<Watch>> served;
  tunefarm::tune::v1::JobUpdate update;
  for (int i = 0; i < kWatchers; ++i) {
    auto watch = std::make_unique<Watch>();
    rpc::set_deadline(watch->context, absl::Seconds(60));
    watch->reader = stub->WatchJob(&watch->context, job);
    if (watch->reader->Read(&update)) {
      served.push_back(std::move(watch));
    } else {
      const absl::Status refused =
          rpc::from_grpc(watch->reader->Finish(), "tuner", daemon_->endpoint(), false);
      EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()),
                  testing::EndsWith("is at its limit of concurrent calls: try again later"));
    }
  }
  EXPECT_GE(served.size(), 1u);
  EXPECT_LE(served.size(), size_t{kThreads});
  for (const auto& watch : served) {
    watch->context.TryCancel();
    while (watch->reader->Read(&update)) {
    }
    watch->reader->Finish();
  }
}

TEST_F(DaemonTest, CancelPauseAndResumeReachTheJob) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const int64_t id = *client->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(1);
  ASSERT_TRUE(client->pause(id).ok());
  ASSERT_TRUE(client->resume(id).ok());
  executor_->wait_for_starts(2);
  ASSERT_TRUE(client->cancel(id).ok());
  EXPECT_EQ(state_of(*client->watch(id, absl::Seconds(5), [](const JobUpdate&) { return true; })),
            JobState::kCancelled);
  EXPECT_EQ(client->resume(id).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client->cancel(99).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(
          client->watch(99, absl::Seconds(5), [](const JobUpdate&) { return true; }).status().message()),
      HasSubstr("no job 99"));
}

TEST_F(DaemonTest, ARefusedSubmissionSaysWhy) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  JobSpec spec = spec_for("nowhere");
  EXPECT_EQ(client->submit(spec, "model").status().code(), absl::StatusCode::kNotFound);
  spec = spec_for("");
  EXPECT_THAT(std::string(client->submit(spec, "model").status().message()), HasSubstr("--device KEY"));
  spec = spec_for("desk");
  spec.set_trials(0);
  EXPECT_THAT(std::string(client->submit(spec, std::string(4'000'000, 'x')).status().message()),
              HasSubstr("--trials"));
  EXPECT_TRUE(client->list()->empty());
}

TEST_F(DaemonTest, AJobKeepsTheNameThatAPlainTextTunerIsTold) {
  ASSERT_TRUE(start().ok());
  const int64_t named = *client("ada")->submit(spec_for("desk"), "model");
  const int64_t nameless = *client()->submit(spec_for("phone"), "model");
  EXPECT_EQ(client("no name!")->submit(spec_for("desk"), "model").status().code(),
            absl::StatusCode::kInvalidArgument);
  daemon_.reset();
  ASSERT_TRUE(start().ok());
  const std::vector<JobUpdate> jobs = *client()->list();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].job_id(), named);
  EXPECT_EQ(jobs[0].submitter(), "ada");
  EXPECT_EQ(jobs[1].job_id(), nameless);
  EXPECT_EQ(jobs[1].submitter(), "");
}

TEST_F(DaemonTest, ManyJobsAreListedPageByPage) {
  ASSERT_TRUE(start().ok());
  const auto client = this->client();
  for (int64_t i = 1; i <= 120; ++i) ASSERT_EQ(*client->submit(spec_for("desk"), "model"), i);
  const std::vector<JobUpdate> jobs = *client->list();
  ASSERT_EQ(jobs.size(), 120u);
  for (int64_t i = 1; i <= 120; ++i) EXPECT_EQ(jobs[static_cast<size_t>(i - 1)].job_id(), i);

  const auto stub = tunefarm::tune::v1::Tuner::NewStub(rpc::make_channel(daemon_->endpoint()));
  tunefarm::tune::v1::ListJobsRequest request;
  request.set_in_pages(true);
  request.set_after_job_id(60);
  tunefarm::tune::v1::ListJobsReply page;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->ListJobs(&context, request, &page).ok());
  EXPECT_LT(page.jobs_size(), 60) << "one message holds 4 MiB";
  EXPECT_TRUE(page.more());
  EXPECT_EQ(page.jobs(0).job_id(), 61);
}

TEST_F(DaemonTest, ASubmissionBeyondALimitIsRefusedBeforeItsModelIsTaken) {
  ASSERT_TRUE(start(0, {.limits = {.in_all = 100, .of_each = 1}}).ok());
  auto ada = client("ada");
  const absl::Status large = ada->submit(spec_for("desk"), std::string(5'000'000, 'x')).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted) << large;
  EXPECT_THAT(std::string(large.message()),
              HasSubstr("the model has 5 MiB, but this tuner accepts at most 4"));
  ASSERT_TRUE(ada->submit(spec_for("desk"), "model").ok());
  executor_->wait_for_starts(1);
  ASSERT_TRUE(ada->submit(spec_for("desk"), "model").ok());
  const std::string another = "another model";
  const absl::Status full = ada->submit(spec_for("desk"), another).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("1 jobs of ada are waiting"));
  EXPECT_FALSE(is_kept(another));
  EXPECT_TRUE(client("bob")->submit(spec_for("desk"), another).ok());
  EXPECT_EQ(ada->list()->size(), 3u);
}

TEST_F(DaemonTest, AModelGoesWithTheLastJobThatNeedsItHoweverThatEnds) {
  ASSERT_TRUE(start().ok());
  auto client = this->client();
  const int64_t done = *client->submit(spec_for("desk"), "model"),
                failed = *client->submit(spec_for("phone"), "model");
  const int64_t waiting = *client->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(2);
  executor_->end(failed, absl::InternalError("it broke"));
  expect_end(*client, failed, JobState::kFailed);
  EXPECT_TRUE(is_kept("model"));
  ASSERT_TRUE(client->cancel(waiting).ok());
  expect_end(*client, waiting, JobState::kCancelled);
  EXPECT_TRUE(is_kept("model"));
  executor_->end(done, absl::OkStatus());
  expect_end(*client, done, JobState::kDone);
  EXPECT_FALSE(is_kept("model"));
}

TEST_F(DaemonTest, AModelStaysOverARestartAsLongAsAJobNeedsIt) {
  ASSERT_TRUE(start().ok());
  const int64_t runs = *client()->submit(spec_for("desk"), "model"),
                paused = *client()->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(1);
  ASSERT_TRUE(client()->pause(paused).ok());
  daemon_.reset();
  EXPECT_TRUE(is_kept("model"));
  ASSERT_TRUE(start().ok());
  executor_->wait_for_starts(1);
  executor_->end(runs, absl::OkStatus());
  expect_end(*client(), runs, JobState::kDone);
  EXPECT_TRUE(is_kept("model")) << "the other job is only paused";
  daemon_.reset();
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(is_kept("model"));
  ASSERT_TRUE(client()->resume(paused).ok());
  executor_->wait_for_starts(1);
  EXPECT_EQ(*read_file(store_->find_job(paused)->model_path), "model");
  executor_->end(paused, absl::OkStatus());
  expect_end(*client(), paused, JobState::kDone);
  EXPECT_FALSE(is_kept("model"));
}

TEST_F(DaemonTest, ARefusedSubmissionLeavesNoModel) {
  ASSERT_TRUE(start().ok());
  JobSpec torn = spec_for("desk");
  torn.set_model_name("torn.onnx");
  for (const JobSpec& spec : {torn, spec_for("nowhere")}) {
    EXPECT_FALSE(client()->submit(spec, "model").ok());
    EXPECT_FALSE(is_kept("model"));
  }
}

TEST_F(DaemonTest, ItsRecordsAreTheSameAsTheFiles) {
  using namespace database;
  ASSERT_TRUE(start().ok());
  ASSERT_TRUE(store_->add_workload(conv_workload()).ok());
  for (int64_t ns : {300, 100, 200}) ASSERT_TRUE(store_->insert(measured(ns)).ok());
  auto remote = open_records("tuner://" + address());
  ASSERT_TRUE(remote.ok()) << remote.status();
  const BestQuery query{.problem = conv_problem(), .device_class = "desk", .semantics_version = 3};
  EXPECT_EQ(record_digest(**(*remote)->best(query)), record_digest(**store_->best(query)));
  EXPECT_EQ((*remote)->top({conv_problem()}, 2)->size(), 2u);
  EXPECT_FALSE((*remote)->best({.problem = conv_problem(), .device_class = "phone"})->has_value());
  EXPECT_EQ((*remote)->find_workload(conv_workload().key().hex().substr(0, 8))->text, conv_workload().text);
  EXPECT_EQ((*remote)->workloads()->size(), 1u);
  EXPECT_EQ((*remote)->problems()->at(0), conv_problem());
  EXPECT_EQ((*remote)->find_record(record_digest(measured(200)))->median_ns(), 200);
  EXPECT_EQ((*remote)->find_record(sha256("no")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(*(*remote)->is_measured(conv_problem(), measured(100).schedule));
  EXPECT_TRUE((*remote)->verdicts()->empty());
  ASSERT_TRUE(store_->save_verdict(database::some_verdict(), database::Origin::kLive).ok());
  EXPECT_EQ(*(*remote)->verdicts(), *store_->verdicts());
  std::vector<double> order;
  ASSERT_TRUE(
      (*remote)
          ->scan({.which = Filter::Which::kOk},
                 [&](const Measurement& m) { return order.push_back(*m.median_ns()), absl::OkStatus(); })
          .ok());
  EXPECT_THAT(order, testing::ElementsAre(300, 100, 200));
  EXPECT_EQ((*remote)->scan({}, [](const Measurement&) { return absl::AbortedError("enough"); }).message(),
            "enough");
}

TEST_F(DaemonTest, ATunerThatIsNotThereIsNamed) {
  ASSERT_TRUE(start().ok());
  const std::string gone = address();
  daemon_.reset();
  absl::Status status = database::open_records("tuner://" + gone).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("no tuner answers at " + gone));
  EXPECT_EQ((*make_job_client(gone))->list().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(make_job_client("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(database::open_records("tuner://example.org:99").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DaemonTest, APortInUseALockedDatabaseAndAForeignAddressAreRefused) {
  ASSERT_TRUE(start().ok());
  auto none = [](database::Store&) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
    return std::make_unique<ScriptedExecutor>();
  };
  auto refused =
      Daemon::start({.listen = daemon_->endpoint(), .database_path = folder_.file("other.db")}, none);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  refused = Daemon::start({.listen = {.host = "127.0.0.1"}, .database_path = folder_.file("t.db")}, none);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is writing it"));
  refused = Daemon::start({.listen = {.host = "192.0.2.1", .port = 9}, .database_path = folder_.file("o.db")},
                          none);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tf::service
