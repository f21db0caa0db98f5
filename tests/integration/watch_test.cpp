// A job of a secured tuner is watched while that dies and comes back. The watcher is a process of its own:
// one that serves something besides gets on with its connections whatever it waits for.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

using farm_test::Process;
using testing::HasSubstr;
using testing::Not;

class WatchedOverTls : public Tuning {
 protected:
  void SetUp() override {
    Tuning::SetUp();
    ASSERT_EQ(run("tracker", {"ca", "init", "--dir", file("ca")}).code, 0);
    tracker_ =
        start("tracker",
              {"serve", "--tls", file("ca"), "--listen", tracker_at_.text(), "--state", file("tracker.db")},
              "tracker.log");
    wait_until("tracker", [this] { return count("tracker.log", "mutual TLS") > 0; });
    join("tuner", "tuner", "ada");
    join("device_agent", "agent", "box");
    start_tuner();
    agent_ = start("device_agent",
                   {"--tracker", tracker_at_.text(), "--key", "box", "--tls", file("box"), "--state-dir",
                    file("agent"), "--without-sandbox", "missing"},
                   "agent.log");
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (const char* log : {"tracker.log", "tuner.log", "agent.log", "watch.log", "watch.json", "watch.err"})
      std::fprintf(stderr, "== %s\n%s", log, read_file(file(log)).value_or("").c_str());
  }

  // As the member `name`, whose folder is called so, too.
  void join(const std::string& program, const std::string& role, const std::string& name) {
    const Result token = run("tracker", {"ca", "token", "--role", role, "--name", name, "--tracker",
                                         tracker_at_.text(), "--tls", file("ca") + "/admin"});
    ASSERT_EQ(token.code, 0) << token.err;
    const Result joined = run(program, {"join", "--tracker", tracker_at_.text(), "--token",
                                        token.out.substr(0, token.out.find('\n')), "--tls", file(name)});
    ASSERT_EQ(joined.code, 0) << joined.err;
  }

  void start_tuner() {
    tuner_ = start("tuner",
                   {"serve", "--db", file("tune.db"), "--tracker", tracker_at_.text(), "--listen",
                    tuner_at_.text(), "--tls", file("ada")},
                   "tuner.log");
  }

  std::vector<std::string> asked(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--server", tuner_at_.text(), "--tls", file("ada")});
    return arguments;
  }

  int64_t count(const std::string& log, const std::string& words) {
    return std::ranges::count_if(farm_test::lines_of(file(log)), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }

  const rpc::Endpoint tracker_at_ = farm_test::free_endpoint();
  const rpc::Endpoint tuner_at_ = farm_test::free_endpoint();
  std::unique_ptr<Process> tracker_, tuner_, agent_;
};

TEST_F(WatchedOverTls, GoesOnWhenTheTunerThatWasKilledIsBackAndSaysMeanwhileThatItWaits) {
  wait_until("device", [this] {
    return run("tuner",
               asked({"submit", file("mlp.onnx"), "--target", "host", "--device", "box", "--trials", "500"}))
               .code == 0;
  });
  ASSERT_EQ(run("tuner", asked({"pause", "1"})).code, 0);
  std::vector<std::string> as_json = asked({"watch", "1", "--json"});
  as_json.insert(as_json.begin(), farm_test::program("tuner"));
  Process json_watch(std::move(as_json), file("watch.json"), file("watch.err"));
  const auto watch = start("tuner", asked({"watch", "1"}), "watch.log");
  wait_until("pause", [this] { return count("watch.log", "job 1 paused") > 0; });
  std::this_thread::sleep_for(std::chrono::seconds(2));  // the other has been answered, too

  const std::string name = absl::StrCat("the tuner at ", tuner_at_.text());
  tuner_->kill_9();
  const auto both_say = [&](const std::string& words) {
    return count("watch.log", words) > 0 && count("watch.err", words) > 0;
  };
  wait_until("word of that", [&] { return both_say(name + " does not respond; retrying"); });
  start_tuner();
  wait_until("return", [&] { return both_say(name + " is reachable again"); });

  wait_until("tuner", [this] { return run("tuner", asked({"cancel", "1"})).code == 0; });
  EXPECT_EQ(json_watch.wait(), 1);
  EXPECT_EQ(watch->wait(), 1) << "of what was cancelled nobody waits for a result";
  const std::string seen = read_file(file("watch.log")).value_or("");
  EXPECT_THAT(seen, HasSubstr("job 1 cancelled while it was paused"));
  EXPECT_THAT(seen, Not(HasSubstr("not a tuner of this farm")));
  EXPECT_EQ(count("watch.log", "does not respond"), 1);
  for (const std::string& line : farm_test::lines_of(file("watch.json")))
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false).is_object()) << line;
}

}  // namespace
}  // namespace tf::integration_test
