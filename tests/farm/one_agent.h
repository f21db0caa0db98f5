#pragma once
// Owns: a farm of one agent, as processes on loopback: a tracker, a tuner, an agent on one device. Does not know: what is
// tuned.

#include <memory>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"
#include "tests/farm/harness.h"

namespace tf::farm_test {

class OneAgentFarm {
 public:
  // `device` as the agent's --device, such as "opencl:0".
  explicit OneAgentFarm(const std::string& device);

  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string database() const { return file("tune.db"); }
  // The exit code of a program of this build, whose output is file("run.log"), what it says on stderr file("errors.log").
  int run(const std::string& name, std::vector<std::string> arguments) const;
  // Tunes the model with such options of `tuner submit`, "--minutes", "1", to its end. False if it failed, or the agent did
  // not come within a minute.
  bool tune(const std::string& model, const std::string& target, const std::vector<std::string>& options);
  // What the processes said.
  void print_logs() const;

 private:
  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> arguments) const;

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const rpc::Endpoint tracker_at_ = free_endpoint(), tuner_at_ = free_endpoint();
  int jobs_ = 0;
  std::unique_ptr<Process> tracker_, tuner_, agent_;
};

}  // namespace tf::farm_test
