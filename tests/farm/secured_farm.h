#pragma once
// Owns: a secured farm in the test's process, over real connections, whose CA is at hand.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "base/grpc_environment.h"
#include "base/status.h"
#include "device_agent/agent/agent.h"
#include "rpc/connection/channel.h"
#include "rpc/identity/membership.h"
#include "tests/farm/harness.h"
#include "tests/support/operating/probe.h"
#include "tracker/ca/member_client.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {

using measure::FarmRunner;
using rpc::Credentials;
using rpc::Role;
using test::call;

inline const bool kGrpcPrepared = (set_grpc_environment(), true);  // as programs do first thing in main

class SecuredFarm : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(tracker::Authority::make(ca_, rpc::real_wall_clock().now()).ok());
    start();
  }

  void start(absl::Duration certificate_life = absl::Hours(1),
             uint64_t artifact_bytes = tracker::DaemonOptions().artifact_bytes) {
    daemon_ = nullptr;
    life_ = certificate_life;
    {
      // The first admin comes with the CA.
      const auto members = tracker::Members::open(ca_, rpc::real_wall_clock(), {.certificate_life = life_});
      ASSERT_TRUE(members.ok()) << members.status();
      const std::string folder = dir_.file(absl::StrCat("admin", ++admins_));
      ASSERT_TRUE(tracker::make_member(**members, folder, {rpc::Role::kAdmin, "admin"}).ok());
      admin_ = *Credentials::load(folder);
      admin_folder_ = folder;
    }
    auto daemon = tracker::Daemon::start({.listen = {"127.0.0.1", 0},
                                          .ca_folder = ca_,
                                          .members = {.certificate_life = life_},
                                          .state_path = dir_.file("tracker.db"),
                                          .artifact_bytes = artifact_bytes});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  agent::AgentOptions options(std::shared_ptr<Credentials> credentials, const std::string& id = "") {
    const std::string device = id.empty() ? credentials->identity().name : id;
    return {.tracker = endpoint(),
            .credentials = std::move(credentials),
            .id = device,
            .state_dir = dir_.file("a")};
  }

  // That holders reach straight.
  agent::AgentOptions listening(std::shared_ptr<Credentials> credentials) {
    agent::AgentOptions result = options(std::move(credentials));
    result.listen = free_endpoint();
    return result;
  }

  const rpc::Endpoint& endpoint() const { return daemon_->endpoint(); }

  absl::StatusOr<std::string> token(Role role, const std::string& name = "") {
    TF_ASSIGN_OR_RETURN(tracker::IssuedToken issued,
                        tracker::request_token({endpoint(), admin_}, {.role = role, .name = name}));
    return issued.text;
  }

  std::shared_ptr<Credentials> member(Role role, const std::string& name) {
    const auto text = token(role);
    EXPECT_TRUE(text.ok()) << text.status();
    const std::string folder = dir_.file(name);
    const auto joined =
        rpc::join_farm({.tracker = endpoint(), .token = *text, .name = name, .folder = folder});
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *Credentials::load(folder);
  }

  absl::StatusOr<std::unique_ptr<FarmRunner>> connect(const std::shared_ptr<Credentials>& credentials) {
    for (int i = 0; i < 100; ++i) {
      auto runner = FarmRunner::connect({.tracker = endpoint(),
                                         .credentials = credentials,
                                         .device_key = "box",
                                         .first_wait = absl::Seconds(5)});
      if (!absl::IsNotFound(runner.status())) return runner;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return absl::NotFoundError("the agent never registered");
  }

  std::string audit() const {
    std::string text;
    for (const char* file : {"/audit.jsonl", "/audit.jsonl.routine", "/audit.jsonl.denied"})
      for (const std::string& line : lines_of(ca_ + file)) text += line + "\n";
    return text;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string ca_ = dir_.file("ca");
  absl::Duration life_;
  int admins_ = 0;
  std::string admin_folder_;
  std::shared_ptr<Credentials> admin_;
  std::unique_ptr<tracker::Daemon> daemon_;
};

}  // namespace tf::farm_test
