// A tracker whose disk stands still, through its real services: who waits for that, and who does not.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <list>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/ca/members.h"
#include "tracker/service/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr int kThreads = 4;     // of a pool
constexpr int kOperators = 20;  // more than gRPC has threads, or the pool

bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 2000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return is_true();
}

class SlowDiskTest : public FarmTest {
 protected:
  void SetUp() override {
    FarmTest::SetUp();
    for (int i = 0; i < kOperators; ++i) attach(device(i), "other");
    attach("box");
    attach("pi", "pi");
    held_ = lease("box");
    farm_->on_unsaved([this] {
      ++changes_;
      if (disk_works_) farm_->save().IgnoreError();
    });
    agents_ = make_agent_service(*farm_, *artifacts_, transfers_);
    tuners_ = make_tuner_service(*farm_, *artifacts_, transfers_);
    operators_ = make_operator_service(*farm_, calls_);
    auto server = rpc::Server::start({"127.0.0.1", 0}, {agents_.get(), tuners_.get(), operators_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    tuner_ = pb::Tuners::NewStub(rpc::make_channel(server_->endpoint()));
    operator_ = pb::Operators::NewStub(rpc::make_channel(server_->endpoint()));
    agent_ = pb::Agents::NewStub(rpc::make_channel(server_->endpoint()));
  }

  void TearDown() override {
    mend_disk();
    server_ = nullptr;
    calls_.finish();
    transfers_.finish();
    FarmTest::TearDown();
  }

  void mend_disk() {
    disk_works_ = true;
    farm_->save().IgnoreError();
  }

  static std::string device(int i) { return absl::StrCat("d", i); }

  int cordoned() {
    int count = 0;
    for (const DeviceStatus& status : devices_of(*farm_)) count += status.admission == Admission::kCordoned;
    return count;
  }

  // One call of `operators_`, under way from here on.
  struct Cordon {
    grpc::ClientContext context;
    pb::SetAdmissionRequest request;
    pb::SetAdmissionReply reply;
    std::promise<grpc::Status> ended;
  };
  void cordon(int i) {
    Cordon& call = cordons_.emplace_back();
    rpc::set_deadline(call.context, absl::Seconds(60));
    call.request.set_device_id(device(i));
    call.request.set_admission(pb::ADMISSION_CORDONED);
    operator_->async()->SetAdmission(&call.context, &call.request, &call.reply, [&](grpc::Status status) {
      ++cordons_ended_;
      call.ended.set_value(std::move(status));
    });
  }

  absl::StatusCode renew() {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    pb::LeaseName name;
    name.set_lease_id(held_->id.text);
    name.set_epoch(held_->epoch);
    pb::LeaseGrant grant;
    return static_cast<absl::StatusCode>(tuner_->RenewLease(&context, name, &grant).error_code());
  }

  // What an agent hears when it comes.
  bool is_greeted(const std::string& id) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    const auto stream = agent_->Synchronize(&context);
    pb::AgentMessage hello;
    hello.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    hello.mutable_hello()->set_agent_id(id);
    hello.mutable_hello()->set_device_key("other");
    hello.mutable_hello()->add_slots()->add_cpus(0);
    pb::TrackerMessage answer;
    const bool heard = stream->Write(hello) && stream->Read(&answer) && answer.has_hello();
    context.TryCancel();
    stream->Finish();
    return heard;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::unique_ptr<rpc::ArtifactStore> artifacts_ = *rpc::ArtifactStore::open(dir_.path(), 1 << 20);
  rpc::CallPool calls_{{.what = "operators' calls", .threads = kThreads}};
  rpc::CallPool transfers_{{.what = "transfers", .threads = 1}};
  std::unique_ptr<grpc::Service> agents_, tuners_, operators_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<pb::Tuners::Stub> tuner_;
  std::unique_ptr<pb::Operators::Stub> operator_;
  std::unique_ptr<pb::Agents::Stub> agent_;
  std::optional<Lease> held_;
  std::atomic<bool> disk_works_ = false;
  std::atomic<int> changes_ = 0;  // that somebody was to write
  std::list<Cordon> cordons_;
  std::atomic<int> cordons_ended_ = 0;
};

TEST_F(SlowDiskTest, OperatorsWhoWaitForItHoldUpNeitherHeartbeatsNorGrants) {
  for (int i = 0; i < kOperators; ++i) cordon(i);
  ASSERT_TRUE(wait_until([&] { return cordoned() == kThreads; })) << "they have begun to wait";
  for (int i = 0; i < kOperators; ++i) ASSERT_EQ(renew(), absl::StatusCode::kOk);
  EXPECT_TRUE(is_greeted("new"));
  EXPECT_EQ(cordons_ended_, 0) << "nothing is on the disk yet";

  const int before = changes_;
  auto grant = std::async(std::launch::async, [&] {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(60));
    pb::AcquireLeaseRequest request;
    request.set_protocol_version(rpc::kProtocolVersion);
    request.set_device_key("pi");
    pb::LeaseGrant reply;
    return tuner_->AcquireLease(&context, request, &reply);
  });
  ASSERT_TRUE(wait_until([&] { return changes_ > before; })) << "it is to be written, as are the operators'";
  ASSERT_TRUE(farm_->save().ok());
  EXPECT_TRUE(grant.get().ok()) << "it had not to wait for the operators' turns";

  mend_disk();
  for (Cordon& call : cordons_) EXPECT_TRUE(call.ended.get_future().get().ok());
  EXPECT_EQ(cordoned(), kOperators);
}

TEST_F(SlowDiskTest, ArtifactsThatWaitForItHoldUpNoHeartbeat) {
  std::promise<void> let_go;
  ASSERT_TRUE(transfers_.run([&] { let_go.get_future().wait(); }).ok());
  const std::string bytes(1000, 'x');
  std::atomic<int> ended = 0;
  std::vector<std::future<bool>> transfers;
  const auto begin = [&](auto&& transfer) {
    transfers.push_back(std::async(std::launch::async, [&ended, transfer] {
      grpc::ClientContext context;
      rpc::set_deadline(context, absl::Seconds(60));
      const bool good = transfer(context);
      ++ended;
      return good;
    }));
  };
  for (int i = 0; i < 8; ++i) {
    begin([&](grpc::ClientContext& context) {
      pb::UploadArtifactReply reply;
      const auto writer = tuner_->UploadArtifact(&context, &reply);
      pb::ArtifactChunk chunk;
      chunk.set_digest(sha256(bytes).hex());
      chunk.set_size_bytes(bytes.size());
      chunk.set_content(bytes);
      return writer->Write(chunk) && writer->WritesDone() && writer->Finish().ok();
    });
    begin([&](grpc::ClientContext& context) {
      pb::FetchArtifactRequest request;
      request.set_digest(sha256("never sent").hex());
      pb::ArtifactChunk chunk;
      const auto reader = agent_->FetchArtifact(&context, request);
      return !reader->Read(&chunk) && reader->Finish().error_code() == grpc::StatusCode::NOT_FOUND;
    });
    begin([&](grpc::ClientContext& context) {
      pb::FindMissingArtifactsRequest request;
      pb::FindMissingArtifactsReply reply;
      return tuner_->FindMissingArtifacts(&context, request, &reply).ok();
    });
  }
  for (int i = 0; i < kOperators; ++i) EXPECT_EQ(renew(), absl::StatusCode::kOk);
  EXPECT_EQ(ended, 0);
  EXPECT_FALSE(artifacts_->contains(sha256(bytes)));
  let_go.set_value();
  for (std::future<bool>& each : transfers) EXPECT_TRUE(each.get());
  EXPECT_TRUE(artifacts_->contains(sha256(bytes)));
}

// Stands in for a disk: the members' lock is held while it is asked.
class StandingClock final : public rpc::WallClock {
 public:
  absl::Time now() const override {
    asked = true;
    while (stands) std::this_thread::yield();
    return rpc::real_wall_clock().now();
  }
  mutable std::atomic<bool> asked = false;
  std::atomic<bool> stands = false;
};

TEST(SlowDisk, RevocationsAreToldWhileOtherCallsOfMembersWait) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string folder = dir.file("ca");
  StandingClock clock;
  ASSERT_TRUE(Authority::make(folder, clock.now()).ok());
  const auto members = Members::open(folder, clock);
  ASSERT_TRUE(members.ok()) << members.status();
  clock.asked = false;
  clock.stands = true;
  std::thread waits(
      [&] { (*members)->issue_token({.role = rpc::Role::kAgent, .name = "box"}).status().IgnoreError(); });
  while (!clock.asked) std::this_thread::yield();
  auto told = std::async(std::launch::async, [&] {
    return (*members)->revocations_since((*members)->revocations().generation).has_value();
  });
  EXPECT_EQ(told.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  clock.stands = false;
  waits.join();
}

}  // namespace
}  // namespace tf::tracker
