#pragma once
// Owns: the programs as users run them, for tests: one after another in a folder that goes with the test, or
// together as a farm on loopback. Does not know: what is tested.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"
#include "database/record.h"
#include "tests/farm/harness.h"

namespace tf::integration_test {

struct Result {
  int code = 0;
  std::string out, err;
};

class Tuning : public testing::Test {
 protected:
  // The network of most tests: file("mlp.onnx"), five tasks.
  void SetUp() override;

  std::string file(const std::string& name) const { return folder_.file(name); }

  // Both streams go to file(log).
  std::unique_ptr<farm_test::Process> start(const std::string& name, std::vector<std::string> arguments,
                                            const std::string& log);
  Result run(const std::string& name, std::vector<std::string> arguments);
  // Expects the exit code and one line on stderr that has `words`.
  void expect_refusal(const std::string& name, std::vector<std::string> arguments, int code,
                      const std::string& words);

  // Of jobs, in the order of insertion; empty while there is no database. What the machine itself reaches is
  // of no job.
  std::vector<database::Measurement> measurements(const std::string& db);
  // Different programs that were measured: what a budget of trials counts.
  int64_t measured(const std::string& db);
  void wait_for_measurements(const std::string& db, int64_t count);
  // Fails the test after a minute.
  void wait_until(const std::string& what, const std::function<bool()>& condition);

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  int runs_ = 0;
};

// What was measured, whenever and wherever.
std::string program_of(const database::Measurement& m);

// All programs of a farm on loopback, its one device with the key "box".
class ServedTuning : public Tuning {
 protected:
  void SetUp() override;
  // Prints the logs of a failed test.
  void TearDown() override;

  void start_tracker();
  void start_tuner();
  void start_agent();
  std::vector<std::string> agent_more_;  // further arguments of the agent

  // Until the agent is known a submission is refused, as it should be.
  void wait_for_agent();
  std::vector<std::string> submission(int trials, std::vector<std::string> more = {}) const;

  const rpc::Endpoint tracker_at_ = farm_test::free_endpoint();
  const rpc::Endpoint tuner_at_ = farm_test::free_endpoint();
  std::unique_ptr<farm_test::Process> tracker_, tuner_, agent_;
};

}  // namespace tf::integration_test
