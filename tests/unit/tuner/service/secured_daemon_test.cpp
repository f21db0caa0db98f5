// A served tuner that knows its callers by their certificates; only the tuning itself is scripted.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/grpc_environment.h"
#include "rpc/identity/credentials.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"
#include "tuner/service/daemon.h"
#include "tuner/service/grpc/job_client.h"

namespace tf::service {
namespace {

using rpc::Role;
using testing::HasSubstr;

[[maybe_unused]] const bool kGrpcPrepared = (set_grpc_environment(), true);  // as programs do first in main

class SecuredDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string ca = folder_.file("ca");
    ASSERT_TRUE(tracker::Authority::make(ca, rpc::real_wall_clock().now()).ok());
    auto members = tracker::Members::open(ca);
    ASSERT_TRUE(members.ok()) << members.status();
    members_ = *std::move(members);
    auto made = [this](database::Store&) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
      auto executor = std::make_unique<ScriptedExecutor>();
      executor_ = executor.get();
      return executor;
    };
    std::filesystem::create_symlink("t.db", folder_.file("link.db"));
    auto daemon = Daemon::start({.listen = {.host = "127.0.0.1"},
                                 .tracker = {.host = "127.0.0.1", .port = 1},  // nobody answers there
                                 .credentials = member(Role::kTuner, "tuner"),
                                 .database_path = folder_.file("link.db")},
                                made);
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  std::shared_ptr<rpc::Credentials> member(Role role, const std::string& name) {
    const std::string folder = folder_.file(name);
    const absl::Status made = tracker::make_member(*members_, folder, {role, name});
    EXPECT_TRUE(made.ok()) << made;
    return *rpc::Credentials::load(folder);
  }

  std::unique_ptr<JobClient> client(Role role, const std::string& name, const std::string& told = "") {
    return *make_job_client(daemon_->endpoint().text(), member(role, name), told);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Members> members_;
  ScriptedExecutor* executor_ = nullptr;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(SecuredDaemonTest, AJobIsWhoseTheCertificateSaysWhateverTheySay) {
  const auto ada = client(Role::kTuner, "ada", "eve");
  const auto id = ada->submit(spec_for("desk"), "model");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(ada->list()->at(0).submitter(), "tuner ada");
}

TEST_F(SecuredDaemonTest, TheAuditLogBesideTheDatabaseItselfNamesTheJobAndItsNetwork) {
  const auto ada = client(Role::kTuner, "ada");
  const auto id = ada->submit(spec_for("desk"), "model");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_FALSE(ada->submit(spec_for("nowhere"), "model").ok());
  ASSERT_TRUE(ada->cancel(*id).ok());
  daemon_.reset();  // all of it is written
  std::vector<std::string> objects;
  const std::string text = *read_file(folder_.file("t.db.audit.jsonl"));
  for (const auto line : absl::StrSplit(absl::string_view(text), '\n', absl::SkipEmpty()))
    objects.push_back(nlohmann::json::parse(line.begin(), line.end())["object"]);
  EXPECT_THAT(objects, testing::ElementsAre("1 net.onnx", "net.onnx", "1"));
}

TEST_F(SecuredDaemonTest, AnAdminsJobGoesBeforeOthersAndNobodyElses) {
  JobSpec urgent = spec_for("desk");
  urgent.set_priority(1);
  const absl::Status refused = client(Role::kTuner, "ada")->submit(urgent, "model").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("tuner ada may not use the priority 1"));
  const auto root = client(Role::kAdmin, "root");
  EXPECT_TRUE(root->submit(urgent, "model").ok());
  EXPECT_EQ(root->list()->size(), 1u);
}

TEST_F(SecuredDaemonTest, ATunerChangesItsOwnJobsOnly) {
  const auto ada = client(Role::kTuner, "ada"), bob = client(Role::kTuner, "bob");
  const int64_t id = *ada->submit(spec_for("desk"), "model");
  executor_->wait_for_starts(1);
  for (const auto change : {&JobClient::cancel, &JobClient::pause, &JobClient::resume}) {
    const absl::Status refused = ((*bob).*change)(id).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("it is tuner ada's"));
  }
  EXPECT_EQ(state_of(bob->list()->at(0)), database::JobState::kRunning) << "everybody sees it";
  EXPECT_TRUE(ada->pause(id).ok());
  EXPECT_TRUE(ada->resume(id).ok());
  EXPECT_TRUE(ada->cancel(id).ok());
  EXPECT_EQ(bob->cancel(99).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SecuredDaemonTest, AUserSubmitsJobsAndChangesTheirOwnOnly) {
  const auto ada = client(Role::kUser, "ada"), bob = client(Role::kUser, "bob");
  const auto id = ada->submit(spec_for("desk"), "model");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(ada->list()->at(0).submitter(), "user ada");
  const absl::Status refused = bob->cancel(*id).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("it is user ada's"));
  JobSpec urgent = spec_for("desk");
  urgent.set_priority(1);
  EXPECT_EQ(bob->submit(urgent, "model").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(ada->cancel(*id).ok());
}

TEST_F(SecuredDaemonTest, DeviceOwnersAndAdminsChangeAnybodysJobsAndViewersNone) {
  const auto ada = client(Role::kTuner, "ada");
  const int64_t first = *ada->submit(spec_for("desk"), "model"),
                second = *ada->submit(spec_for("desk"), "model");
  EXPECT_EQ(client(Role::kViewer, "vic")->cancel(first).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(client(Role::kDeviceOwner, "dan")->cancel(first).ok());
  EXPECT_TRUE(client(Role::kAdmin, "root")->cancel(second).ok());
}

}  // namespace
}  // namespace tf::service
