// Submissions as any program can make them: their models come slowly, or never.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <future>
#include <set>
#include <vector>

#include "absl/time/clock.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/transfer/transfer_budget.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tuner/service/daemon.h"
#include "tuner/service/grpc/job_client.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr uint64_t kBytes = 600 << 20;  // of which one fits into what models may take together

// Begins a submission and says nothing of its model.
class Submission {
 public:
  Submission(pb::Tuner::Stub& stub, const std::string& submitter) {
    rpc::set_deadline(context_, absl::Seconds(60));
    writer_ = stub.Submit(&context_, &reply_);
    pb::SubmitRequest request;
    *request.mutable_spec() = spec_for("desk");
    request.set_submitter(submitter);
    writer_->Write(request);
  }
  ~Submission() {
    context_.TryCancel();
    if (open_) writer_->Finish();
  }

  void announce_model() {
    pb::SubmitRequest request;
    request.mutable_chunk()->set_digest(sha256("model").hex());
    request.mutable_chunk()->set_size_bytes(kBytes);
    writer_->Write(request);
  }
  // Whether the server still reads.
  bool goes_on() {
    pb::SubmitRequest nothing;
    nothing.mutable_chunk();
    return writer_->Write(nothing);
  }
  grpc::Status end() {
    writer_->WritesDone();
    return wait();
  }
  // Until the server ends it.
  grpc::Status wait() {
    open_ = false;
    return writer_->Finish();
  }

 private:
  grpc::ClientContext context_;
  pb::SubmitReply reply_;
  std::unique_ptr<grpc::ClientWriter<pb::SubmitRequest>> writer_;
  bool open_ = true;
};

// Announces a model and sends nothing of it.
class Upload : public Submission {
 public:
  Upload(pb::Tuner::Stub& stub, const std::string& submitter) : Submission(stub, submitter) {
    announce_model();
  }
};

// Of a call that ends when nothing has come for long enough.
grpc::Status end_of(const std::function<grpc::Status()>& call, rpc::FakeClock& clock) {
  auto ended = std::async(std::launch::async, call);
  while (ended.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
    clock.advance(rpc::kTransferGracePeriod);
  return ended.get();
}

struct Served {
  std::unique_ptr<Daemon> daemon;
  ScriptedExecutor* executor = nullptr;  // the daemon's
};

absl::StatusOr<Served> serve(const TemporaryFolder& folder, const rpc::Clock& clock = rpc::real_clock()) {
  Served served;
  TF_ASSIGN_OR_RETURN(served.daemon,
                      Daemon::start({.listen = {.host = "127.0.0.1"},
                                     .database_path = folder.file("t.db"),
                                     .most_model_bytes = kBytes,
                                     .queue = {.clock = &clock}},
                                    [&](database::Store&) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
                                      auto executor = std::make_unique<ScriptedExecutor>();
                                      served.executor = executor.get();
                                      return executor;
                                    }));
  return served;
}

TEST(UploadMemory, SlowModelsTakeNoMoreTogetherThanTheyMay) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto served = serve(folder);
  ASSERT_TRUE(served.ok()) << served.status();
  const auto stub = pb::Tuner::NewStub(rpc::make_channel(served->daemon->endpoint()));
  auto slow = std::make_unique<Upload>(*stub, "ada");
  grpc::Status status;
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  do {  // until the first has arrived
    status = Upload(*stub, "bob").end();
    if (!slow->goes_on()) slow = std::make_unique<Upload>(*stub, "ada");  // it came after the other
  } while (status.error_code() != grpc::StatusCode::UNAVAILABLE && absl::Now() < deadline);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_THAT(status.error_message(), testing::HasSubstr("MiB would be in transfer; try again"));
}

TEST(UploadMemory, OfOneSubmitterTwoSubmissionsHaveTheTrackerAsked) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto served = serve(folder);
  ASSERT_TRUE(served.ok()) << served.status();
  const auto stub = pb::Tuner::NewStub(rpc::make_channel(served->daemon->endpoint()));
  const Submission first(*stub, "ada"), second(*stub, "ada");  // their models have not even begun to come
  ASSERT_EQ(served->executor->wait_for_checks(2), 2);
  const std::string address = served->daemon->endpoint().text();
  const absl::Status third =
      make_job_client(address, nullptr, "ada").value()->submit(spec_for("desk"), "m").status();
  EXPECT_TRUE(absl::IsUnavailable(third)) << third;
  EXPECT_THAT(std::string(third.message()), testing::HasSubstr("ada already has 2 uploads in progress"));
  EXPECT_EQ(served->executor->wait_for_checks(2), 2);
  const absl::Status others =
      make_job_client(address, nullptr, "bob").value()->submit(spec_for("desk"), "m").status();
  EXPECT_TRUE(others.ok()) << others;
  EXPECT_EQ(served->executor->wait_for_checks(3), 3) << "one that is taken is asked for once";
}

TEST(UploadMemory, ManySubmissionsOfOneSubmitterAtOnceAllGetTheirTurn) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto served = serve(folder);
  ASSERT_TRUE(served.ok()) << served.status();
  const std::string address = served->daemon->endpoint().text();
  std::vector<std::future<absl::StatusOr<int64_t>>> all;
  std::atomic<int> waited = 0;
  for (int i = 0; i < 30; ++i) {
    all.push_back(std::async(std::launch::async, [&] {
      const BusyWait wait{.longest = absl::Minutes(2), .begins = [&](const absl::Status&) { ++waited; }};
      return make_job_client(address, nullptr, "ada").value()->submit(spec_for("desk"), "m", wait);
    }));
  }
  std::set<int64_t> ids;
  for (auto& each : all) {
    const absl::StatusOr<int64_t> id = each.get();
    EXPECT_TRUE(id.ok()) << id.status();
    if (id.ok()) ids.insert(*id);
  }
  EXPECT_EQ(ids.size(), 30u);
  EXPECT_LE(waited, 28);
}

TEST(UploadMemory, ASubmissionWaitsOnlyForATunerThatIsBusyAndNoLongerThanAsked) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto served = serve(folder);
  ASSERT_TRUE(served.ok()) << served.status();
  const auto stub = pb::Tuner::NewStub(rpc::make_channel(served->daemon->endpoint()));
  const Submission first(*stub, "ada"), second(*stub, "ada");
  ASSERT_EQ(served->executor->wait_for_checks(2), 2);
  int begun = 0;
  const BusyWait wait{.longest = absl::Milliseconds(300), .begins = [&](const absl::Status& why) {
                        ++begun;
                        EXPECT_THAT(std::string(why.message()), testing::HasSubstr("already has 2 uploads"));
                      }};
  const auto client = make_job_client(served->daemon->endpoint().text(), nullptr, "ada").value();
  EXPECT_TRUE(absl::IsUnavailable(client->submit(spec_for("desk"), "m", wait).status()));
  EXPECT_EQ(begun, 1);
  const BusyWait patient{.longest = absl::Minutes(10), .begins = wait.begins};
  const auto nobody = make_job_client("127.0.0.1:1", nullptr, "ada").value();
  EXPECT_TRUE(absl::IsUnavailable(nobody->submit(spec_for("desk"), "m", patient).status()));
  EXPECT_EQ(begun, 1) << "nobody is there, which is another matter";
}

TEST(UploadMemory, AModelThatStandsStillIsGivenUp) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  rpc::FakeClock clock;
  const auto served = serve(folder, clock);
  ASSERT_TRUE(served.ok()) << served.status();
  const auto stub = pb::Tuner::NewStub(rpc::make_channel(served->daemon->endpoint()));
  Upload upload(*stub, "ada");
  ASSERT_EQ(served->executor->wait_for_checks(1), 1);
  const grpc::Status ended = end_of([&] { return upload.wait(); }, clock);
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(60));
  pb::SubmitReply reply;
  const auto silent = stub->Submit(&context, &reply);
  EXPECT_EQ(end_of([&] { return silent->Finish(); }, clock).error_code(), grpc::StatusCode::CANCELLED)
      << "nothing came at all";
  const auto client = *make_job_client(served->daemon->endpoint().text());
  EXPECT_TRUE(client->list()->empty());
  EXPECT_TRUE(client->submit(spec_for("desk"), "model").ok());
}

}  // namespace
}  // namespace tf::service
