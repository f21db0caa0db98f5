// A secured farm as people make it: command by command, process by process.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "base/grpc_environment.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/membership.h"
#include "tests/farm/harness.h"
#include "tests/farm/tls_handshake.h"

namespace tf::farm_test {
namespace {

using testing::HasSubstr;

[[maybe_unused]] const bool kGrpcPrepared =
    (set_grpc_environment(), true);  // as programs do first thing in main

class SecuredCommands : public testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    unlink(dir_.file("out").c_str());
    arguments[0] = program(arguments[0]);
    return Process(arguments, dir_.file("out")).wait();
  }

  std::string output() {
    std::string text;
    for (const std::string& line : lines_of(dir_.file("out"))) text += line + "\n";
    return text;
  }

  std::string token(const std::string& role) {
    EXPECT_EQ(run({"tracker", "ca", "token", "--role", role, "--tracker", endpoint_.text(), "--tls",
                   ca_ + "/admin"}),
              0)
        << output();
    return lines_of(dir_.file("out")).at(0);
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (const char* log : {"tracker.log", "agent.log"}) {
      for (const std::string& line : lines_of(dir_.file(log))) std::fprintf(stderr, "  %s\n", line.c_str());
    }
  }

  bool wait_for(const std::string& log, const std::string& part) {
    for (int i = 0; i < 1000; ++i) {
      for (const std::string& line : lines_of(dir_.file(log))) {
        if (line.find(part) != std::string::npos) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string ca_ = dir_.file("ca");
  const rpc::Endpoint endpoint_ = free_endpoint();
};

TEST_F(SecuredCommands, FarmFromNothing) {
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0) << output();
  // Beyond loopback, since it is secured.
  const std::string everywhere = absl::StrCat("0.0.0.0:", endpoint_.port);
  const Process tracker(
      {program("tracker"), "serve", "--tls", ca_, "--listen", everywhere, "--state", dir_.file("tracker.db")},
      dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "mutual TLS"));
  EXPECT_TRUE(handshake(endpoint_, TLS1_3_VERSION));
  EXPECT_FALSE(handshake(endpoint_, TLS1_2_VERSION));
  const std::string box = dir_.file("box");
  ASSERT_EQ(run({"device_agent", "join", "--tracker", endpoint_.text(), "--token", token("agent"), "--name",
                 "box-1", "--tls", box}),
            0)
      << output();
  EXPECT_THAT(output(), HasSubstr("joined as agent box-1"));
  const Process agent({program("device_agent"), "--tracker", endpoint_.text(), "--key", "box", "--tls", box,
                       "--state-dir", dir_.file("state"), "--cpus", "0", "--without-sandbox", "missing"},
                      dir_.file("agent.log"));
  ASSERT_TRUE(wait_for("agent.log", "box-1 serves the tracker"));
  EXPECT_EQ(run({"tracker", "devices", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}), 0);
  EXPECT_THAT(output(), HasSubstr("box-1/0"));
  for (const auto& [command, now] :
       std::vector<std::pair<std::string, std::string>>{{"cordon", "is cordoned"},
                                                        {"drain", "is drained"},
                                                        {"uncordon", "is open"},
                                                        {"readmit", "is readmitted"}}) {
    EXPECT_EQ(run({"tracker", command, "box-1", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}), 0);
    EXPECT_THAT(output(), HasSubstr("device box-1 " + now));
    EXPECT_EQ(lines_of(dir_.file("out")).size(), 1u) << output();
    EXPECT_TRUE(wait_for("tracker.log", "device box-1 " + now)) << command;
  }
  EXPECT_EQ(
      run({"tracker", "drain", "box-1", "--undo", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}),
      0);
  EXPECT_EQ(output(), "device box-1 is open: it can be leased again\n");
  EXPECT_EQ(run({"tracker", "release", "box-1/0", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}),
            0);
  EXPECT_EQ(
      output(),
      "tracker release: nothing was released: box-1/0 has no lease; `tracker devices` shows all holders\n");
  EXPECT_EQ(run({"tracker", "devices", "--tracker", endpoint_.text()}), 1) << "plain text";
  EXPECT_THAT(output(), HasSubstr("requires TLS: give --tls DIR"));
  EXPECT_EQ(lines_of(dir_.file("out")).size(), 1u) << "and nothing of gRPC's own: " << output();
  EXPECT_EQ(run({"tracker", "drain", "box-1", "--tracker", endpoint_.text(), "--tls", box}), 1);
  EXPECT_THAT(output(), HasSubstr("agent box-1 may not call Operators/SetAdmission"));
  EXPECT_EQ(run({"tracker", "ca", "revoke", "box-1", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}),
            0);
  ASSERT_TRUE(wait_for("agent.log", "is revoked"));
  EXPECT_EQ(run({"tracker", "ca", "revoke", "box-1", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}),
            0);
  EXPECT_THAT(output(), HasSubstr("box-1 is already revoked"));
  EXPECT_EQ(run({"tracker", "ca", "list", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}), 0);
  EXPECT_THAT(output(), HasSubstr("revoked 20"));
}

TEST_F(SecuredCommands, MistakesAreOneClearLine) {
  EXPECT_EQ(
      run({"tracker", "serve", "--tls", ca_, "--listen", endpoint_.text(), "--state", dir_.file("t.db")}), 1);
  EXPECT_THAT(output(), HasSubstr("tracker ca init"));
  EXPECT_EQ(run({"device_agent", "--key", "box", "--tls", dir_.file("none"), "--tracker", "10.0.0.1:7190"}),
            1);
  EXPECT_THAT(output(), HasSubstr("device_agent join"));
  EXPECT_EQ(run({"device_agent", "join", "--token", "nonsense", "--tls", dir_.file("box")}), 2);
  EXPECT_THAT(output(), HasSubstr("not a join token"));
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0);
  EXPECT_EQ(run({"device_agent", "--key", "box", "--tls", ca_ + "/admin", "--tracker", "10.0.0.1:7190"}), 1);
  EXPECT_THAT(output(), HasSubstr("belongs to admin admin, but only an agent may offer devices"));
  EXPECT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 1) << "a CA is never replaced";
  EXPECT_THAT(output(), HasSubstr("use it with `tracker serve --tls " + ca_));
  const std::string admin = ca_ + "/admin";
  EXPECT_EQ(
      run({"tracker", "serve", "--tls", admin, "--listen", endpoint_.text(), "--state", dir_.file("t.db")}),
      1);
  EXPECT_THAT(output(), HasSubstr("is a member's folder: give the CA's folder"));
  EXPECT_EQ(run({"tracker", "ca", "init", "--dir", admin}), 1) << "nor is an admin's";
  EXPECT_EQ(run({"tracker", "ca", "token", "--role", "agent", "--tls", ca_}), 1) << "no device is missing";
  EXPECT_THAT(output(), HasSubstr("give --tls " + admin));
  EXPECT_EQ(run({"tracker", "devices", "--tls", dir_.file("nonesuch")}), 1);
  EXPECT_THAT(output(), HasSubstr("does not exist: make one with `tuner join`"));
  EXPECT_EQ(run({"tracker", "ca", "token", "--role", "king", "--tls", ca_ + "/admin"}), 2);
  EXPECT_EQ(run({"tracker", "ca", "token", "--role", "agent", "--uses", "0", "--tls", admin}), 2);
  EXPECT_THAT(output(), HasSubstr("--uses must be a number from 1 to 1000, not 0"));
}

TEST_F(SecuredCommands, TokenForATunerMakesNoAgentAndIsNotUsedUp) {
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0) << output();
  const Process tracker({program("tracker"), "serve", "--tls", ca_, "--listen", endpoint_.text(), "--state",
                         dir_.file("tracker.db")},
                        dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "mutual TLS"));
  const std::string text = token("tuner");
  EXPECT_EQ(run({"device_agent", "join", "--tracker", endpoint_.text(), "--token", text, "--tls",
                 dir_.file("box")}),
            1);
  EXPECT_THAT(output(), HasSubstr("for the role tuner"));
  EXPECT_THAT(output(), HasSubstr("`tuner join`"));
  EXPECT_EQ(lines_of(dir_.file("out")).size(), 1u) << output();
  const auto joined = rpc::join_farm({.tracker = endpoint_,
                                      .token = text,
                                      .name = "ada",
                                      .folder = dir_.file("box"),
                                      .roles = rpc::roles_joining_by("tuner")});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->role, rpc::Role::kTuner);
}

TEST_F(SecuredCommands, ScriptsReadJson) {
  const auto told = [this] { return nlohmann::json::parse(output(), nullptr, /*allow_exceptions=*/false); };
  ASSERT_EQ(
      Process({program("tracker"), "ca", "init", "--dir", ca_, "--json"}, dir_.file("out"), dir_.file("err"))
          .wait(),
      0);
  const nlohmann::json made = told();
  ASSERT_TRUE(made.is_object()) << output();
  EXPECT_EQ(made.value("fingerprint", "").size(), 64u);
  EXPECT_EQ(made.value("admin", ""), ca_ + "/admin");
  const Process tracker({program("tracker"), "serve", "--tls", ca_, "--listen", endpoint_.text(), "--state",
                         dir_.file("tracker.db")},
                        dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "mutual TLS"));
  const std::vector<std::string> admin = {"--tracker", endpoint_.text(), "--tls", ca_ + "/admin", "--json"};
  const auto run_as_admin = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), admin.begin(), admin.end());
    return run(arguments);
  };
  ASSERT_EQ(run_as_admin({"tracker", "ca", "token", "--role", "agent"}), 0) << output();
  const nlohmann::json token = told();
  ASSERT_TRUE(token.is_object()) << output();
  EXPECT_EQ(token.value("role", ""), "agent");
  EXPECT_EQ(token.value("seconds", 0), 900);
  EXPECT_EQ(token.value("join", ""), "device_agent join");
  ASSERT_EQ(run({"device_agent", "join", "--tracker", endpoint_.text(), "--token", token.value("token", ""),
                 "--name", "box", "--tls", dir_.file("box"), "--json"}),
            0)
      << output();
  EXPECT_EQ(told(), (nlohmann::json{{"role", "agent"}, {"name", "box"}, {"tls", dir_.file("box")}}));
  ASSERT_EQ(run_as_admin({"tracker", "ca", "revoke", "agent/box"}), 0) << output();
  EXPECT_EQ(told().value("serials", nlohmann::json::array()).size(), 1u) << output();
  ASSERT_EQ(run_as_admin({"tracker", "ca", "revoke", "agent/box"}), 0) << output();
  EXPECT_EQ(told(), (nlohmann::json{{"serials", nlohmann::json::array()}})) << output();
  ASSERT_EQ(run_as_admin({"tracker", "ca", "list"}), 0) << output();
  EXPECT_TRUE(told().is_array()) << output();
}

TEST_F(SecuredCommands, TrackerThatSpeaksPlainTextSaysSo) {
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0) << output();
  const Process tracker(
      {program("tracker"), "serve", "--listen", endpoint_.text(), "--state", dir_.file("tracker.db")},
      dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "plain text"));
  EXPECT_EQ(run({"tracker", "devices", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}), 1);
  EXPECT_THAT(output(),
              HasSubstr("does not speak TLS, so it is not a tracker of a secured farm: compare the port"));
  EXPECT_EQ(lines_of(dir_.file("out")).size(), 1u) << output();
}

TEST_F(SecuredCommands, AgentWithoutTlsSaysThatItsTrackerSpeaksTls) {
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0) << output();
  const Process tracker({program("tracker"), "serve", "--tls", ca_, "--listen", endpoint_.text(), "--state",
                         dir_.file("tracker.db")},
                        dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "mutual TLS"));
  const Process agent({program("device_agent"), "--tracker", endpoint_.text(), "--key", "box", "--state-dir",
                       dir_.file("state"), "--cpus", "0", "--without-sandbox", "missing"},
                      dir_.file("agent.log"));
  EXPECT_TRUE(wait_for("agent.log", "requires TLS: give --tls DIR"));
}

TEST_F(SecuredCommands, AgentThatListensHearsWhoIsRevoked) {
  ASSERT_EQ(run({"tracker", "ca", "init", "--dir", ca_}), 0) << output();
  const Process tracker({program("tracker"), "serve", "--tls", ca_, "--listen", endpoint_.text(), "--state",
                         dir_.file("tracker.db")},
                        dir_.file("tracker.log"));
  ASSERT_TRUE(wait_for("tracker.log", "mutual TLS"));
  for (const char* role : {"agent", "tuner"}) {
    ASSERT_TRUE(rpc::join_farm({endpoint_, token(role), role, dir_.file(role)}).ok());
  }
  const rpc::Endpoint direct = free_endpoint();
  const Process agent({program("device_agent"), "--tracker", endpoint_.text(), "--key", "box", "--tls",
                       dir_.file("agent"), "--listen", direct.text(), "--state-dir", dir_.file("state"),
                       "--cpus", "0", "--without-sandbox", "missing"},
                      dir_.file("agent.log"));
  ASSERT_TRUE(wait_for("agent.log", "agent serves the tracker"));
  const auto tuner =
      rpc::make_channel(direct, *rpc::Credentials::load(dir_.file("tuner")), rpc::Role::kAgent);
  const auto ask = [&] {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    tunefarm::farm::v1::FindMissingArtifactsReply reply;
    return rpc::from_grpc(
        tunefarm::farm::v1::Tuners::NewStub(tuner)->FindMissingArtifacts(&context, {}, &reply));
  };
  EXPECT_TRUE(absl::IsUnavailable(ask())) << "it has no such lease: " << ask();
  ASSERT_EQ(run({"tracker", "ca", "revoke", "tuner", "--tracker", endpoint_.text(), "--tls", ca_ + "/admin"}),
            0)
      << output();
  absl::Status status;
  for (int i = 0; i < 30 && !absl::IsUnauthenticated(status); ++i) status = ask();
  EXPECT_THAT(std::string(status.message()), HasSubstr("of tuner tuner is revoked")) << status;
}

}  // namespace
}  // namespace tf::farm_test
