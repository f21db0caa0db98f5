#pragma once
// Owns: an agent with fake executors that runs in a thread of the test.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device_agent/agent/agent.h"
#include "device_agent/agent/machine/facts.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/farm/fake_executor.h"

namespace tf::farm_test {

class AgentThread {
 public:
  // What the options leave out: the key box, the id a1, one slot on two CPUs. Each slot gets a fake executor
  // whose trials take so long.
  explicit AgentThread(agent::AgentOptions options,
                       std::chrono::milliseconds trial = std::chrono::milliseconds(1)) {
    tunefarm::farm::v1::DeviceFacts facts = agent::read_facts();
    facts.set_fingerprint("f1");
    facts.set_peak_gflops(42);
    if (options.key.empty()) options.key = "box";
    if (options.id.empty()) options.id = "a1";
    if (options.slots.empty()) options.slots = {{.cpus = {0, 1}}};
    for (agent::AgentSlot& slot : options.slots) {
      executors_.push_back(std::make_unique<FakeExecutor>(trial, ""));
      slot.executor = executors_.back().get();
    }
    auto agent = agent::Agent::create(std::move(options), facts);
    EXPECT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    thread_ = std::thread([this] { ended_ = agent_->run(); });
  }
  ~AgentThread() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    agent_->stop();
    thread_.join();
  }
  // Waits until it ends by itself; how it ended.
  absl::Status join() {
    thread_.join();
    return ended_;
  }
  agent::Agent& agent() { return *agent_; }
  const FakeExecutor& executor(size_t slot = 0) const { return *executors_.at(slot); }

 private:
  std::vector<std::unique_ptr<FakeExecutor>> executors_;
  std::unique_ptr<agent::Agent> agent_;
  absl::Status ended_;
  std::thread thread_;
};

}  // namespace tf::farm_test
