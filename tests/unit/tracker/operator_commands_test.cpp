#include "tracker/operators/operator_commands.h"

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/server.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

// Says of every device how many leases it has; nothing: as a tracker of before.
class CountingTracker final : public pb::Operators::Service {
 public:
  grpc::Status SetAdmission(grpc::ServerContext*, const pb::SetAdmissionRequest*,
                            pb::SetAdmissionReply* reply) override {
    if (leases) reply->set_leases(*leases);
    return grpc::Status::OK;
  }

  std::optional<uint32_t> leases;
};

TEST(OperatorCommands, DrainSaysWhatBecomesOfTheLeasesThatTheTrackerCounts) {
  CountingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto told = [&](std::optional<uint32_t> leases) {
    tracker.leases = leases;
    CLI::App app;
    std::function<absl::Status()> run;
    add_operator_commands(app, run);
    app.parse(absl::StrCat("drain box --tracker ", (*server)->endpoint().text()));
    testing::internal::CaptureStderr();
    const absl::Status done = run();
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(done.ok()) << done;
    return text;
  };
  const std::string shows = "; `tracker devices` shows when it is drained\n";
  EXPECT_EQ(told(0), "device box is drained: it has no lease and gets no new one\n");
  EXPECT_EQ(told(1),
            "device box is draining: it gets no new lease, and the current one is not renewed" + shows);
  EXPECT_EQ(told(2),
            "device box is draining: it gets no new lease, and the current ones are not renewed" + shows);
  EXPECT_EQ(told(std::nullopt),
            "device box is draining: it gets no new lease; a current one is not renewed\n");
}

// Three devices, one of which is here; notes what it is asked to change.
class ListingTracker final : public pb::Operators::Service {
 public:
  grpc::Status ListDevices(grpc::ServerContext*, const pb::ListDevicesRequest*,
                           pb::ListDevicesReply* reply) override {
    for (const char* id : {"rack1-1", "rack1-2", "rack2-1"}) {
      pb::Device& device = *reply->add_devices();
      device.set_device_id(id);
      device.set_online(std::string(id) == "rack1-2");
    }
    return grpc::Status::OK;
  }
  grpc::Status SetAdmission(grpc::ServerContext*, const pb::SetAdmissionRequest* request,
                            pb::SetAdmissionReply*) override {
    return change(request->device_id());
  }
  grpc::Status ForgetDevice(grpc::ServerContext*, const pb::ForgetDeviceRequest* request,
                            pb::ForgetDeviceReply*) override {
    return change(request->device_id());
  }

  std::vector<std::string> changed;

 private:
  grpc::Status change(const std::string& id) {
    if (id == "gone") return {grpc::StatusCode::NOT_FOUND, "there is no device gone"};
    changed.push_back(id);
    return grpc::Status::OK;
  }
};

class ManyDevices : public testing::Test {
 protected:
  absl::Status run(const std::string& command) {
    tracker_.changed.clear();
    CLI::App app;
    std::function<absl::Status()> run;
    add_operator_commands(app, run);
    app.parse(absl::StrCat(command, " --tracker ", server_->endpoint().text()));
    testing::internal::CaptureStderr();
    const absl::Status done = run();
    told_ = testing::internal::GetCapturedStderr();
    return done;
  }

  ListingTracker tracker_;
  const std::unique_ptr<rpc::Server> server_ = *rpc::Server::start({"127.0.0.1", 0}, {&tracker_});
  std::string told_;
};

TEST_F(ManyDevices, AreNamedByIdsAndPatternsEachOnce) {
  EXPECT_TRUE(run("drain rack2-1 rack1-* rack1-1").ok());
  EXPECT_THAT(tracker_.changed, testing::ElementsAre("rack2-1", "rack1-1", "rack1-2"));
  for (const char* command : {"cordon *", "uncordon *", "drain --undo *"}) {
    EXPECT_TRUE(run(command).ok()) << command;
    EXPECT_THAT(tracker_.changed, testing::ElementsAre("rack1-1", "rack1-2", "rack2-1")) << command;
  }
}

TEST_F(ManyDevices, PatternForgetsThoseThatAreAway) {
  EXPECT_TRUE(run("forget rack1-*").ok());
  EXPECT_THAT(tracker_.changed, testing::ElementsAre("rack1-1"));
  EXPECT_EQ(told_, "device rack1-1 is forgotten\n");
  const absl::Status none = run("forget rack1-2*");
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), testing::HasSubstr("no device that is absent matches rack1-2*"));
  EXPECT_TRUE(absl::IsNotFound(run("cordon rack3-*")));
}

TEST_F(ManyDevices, OneFailureDoesNotKeepTheOthersFromBeingChanged) {
  const absl::Status failed = run("cordon gone rack1-1");
  EXPECT_TRUE(absl::IsNotFound(failed)) << failed;
  EXPECT_THAT(tracker_.changed, testing::ElementsAre("rack1-1"));
}

}  // namespace
}  // namespace tf::tracker
