#include "tracker/operator_commands.h"

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/server.h"

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
            "device box is draining: it gets no new lease, and the present one is not renewed" + shows);
  EXPECT_EQ(told(2),
            "device box is draining: it gets no new lease, and the present ones are not renewed" + shows);
  EXPECT_EQ(told(std::nullopt),
            "device box is draining: it gets no new lease, and a present one is not renewed\n");
}

}  // namespace
}  // namespace tf::tracker
