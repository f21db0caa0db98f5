// A real agent whose executor is a fake: farm_test_agent HOST:PORT KEY STATE_DIR TRIAL_MS LOG [ID [LISTEN]]
// LISTEN: where holders reach it.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "device_agent/agent/agent.h"
#include "device_agent/agent/machine/facts.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/daemon/daemon_environment.h"
#include "rpc/daemon/stop_signals.h"
#include "tests/farm/fake_executor.h"

int main(int argc, char** argv) {
  if (argc < 6 || !tf::rpc::obey_test_environment("agent").ok()) return 2;
  tf::rpc::StopSignals signals;
  tf::farm_test::FakeExecutor executor(std::chrono::milliseconds(std::atoi(argv[4])), argv[5]);
  tunefarm::farm::v1::DeviceFacts facts = tf::agent::read_facts();
  facts.set_fingerprint("fake");
  std::optional<tf::rpc::Endpoint> listen;
  if (argc > 7) listen = *tf::rpc::parse_endpoint(argv[7]);
  auto agent = tf::agent::Agent::create({.tracker = *tf::rpc::parse_endpoint(argv[1]),
                                         .key = argv[2],
                                         .id = argc > 6 ? argv[6] : "",
                                         .state_dir = argv[3],
                                         .slots = {{.cpus = {0}, .executor = &executor}},
                                         .version = "test",
                                         .listen = listen},
                                        facts);
  if (!agent.ok()) {
    std::fprintf(stderr, "%s\n", agent.status().ToString().c_str());
    return 1;
  }
  absl::Status ended;
  std::thread running([&] {
    ended = (*agent)->run();
    signals.stop_waiting();
  });
  if (signals.wait() != 0) (*agent)->stop();
  running.join();
  if (ended.ok()) return 0;
  std::fprintf(stderr, "%s\n", ended.ToString().c_str());
  return 1;
}
