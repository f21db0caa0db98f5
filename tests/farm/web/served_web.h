#pragma once
// Owns: a tuner that serves HTTP, in the test's process; only the tuning itself is scripted.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "rpc/connection/channel.h"
#include "tests/farm/web/http_client.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tuner/service/daemon.h"
#include "tuner/web/web_server.h"

namespace tf::farm_test {

class ServedWeb {
 public:
  // In plain text without credentials. The tracker need not answer.
  ServedWeb(const std::string& folder, const rpc::Endpoint& tracker,
            const std::shared_ptr<rpc::Credentials>& credentials = nullptr)
      : database_(folder + "/served.db") {
    auto made = [this](database::Store&) -> absl::StatusOr<std::unique_ptr<service::JobExecutor>> {
      auto executor = std::make_unique<service::ScriptedExecutor>();
      executor_ = executor.get();
      return executor;
    };
    auto daemon = service::Daemon::start({.listen = {.host = "127.0.0.1"},
                                          .tracker = tracker,
                                          .credentials = credentials,
                                          .database_path = database_,
                                          .most_model_bytes = 4 << 20},
                                         made);
    EXPECT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    auto web = web::WebServer::start({.listen = {.host = "127.0.0.1"},
                                      .credentials = credentials,
                                      .guard = daemon_->guard(),
                                      .tokens = daemon_->tokens(),
                                      .host_names = {"tuner.lab"},
                                      .tuner = daemon_->in_process_channel(),
                                      .tracker = rpc::make_channel(tracker, credentials, rpc::Role::kTracker),
                                      .most_model_bytes = 4 << 20});
    EXPECT_TRUE(web.ok()) << web.status();
    web_ = *std::move(web);
  }
  ~ServedWeb() { web_ = nullptr; }

  service::Daemon& daemon() { return *daemon_; }
  web::WebServer& web() { return *web_; }
  service::ScriptedExecutor& executor() { return *executor_; }
  const std::string& database() const { return database_; }

 private:
  const std::string database_;
  service::ScriptedExecutor* executor_ = nullptr;
  std::unique_ptr<service::Daemon> daemon_;
  std::unique_ptr<web::WebServer> web_;
};

inline std::string submit_target(const std::string& spec) {
  return "/api/v1/Tuner/Submit?spec=" + spec;
}
// {"modelName":"net.onnx","target":"host","deviceKey":"desk","threads":1,"trials":"100"}
inline constexpr const char* kSpec =
    "%7B%22modelName%22%3A%22net.onnx%22%2C%22target%22%3A%22host%22%2C%22deviceKey%22%3A%22desk%22%2C"
    "%22threads%22%3A1%2C%22trials%22%3A%22100%22%7D";

}  // namespace tf::farm_test
