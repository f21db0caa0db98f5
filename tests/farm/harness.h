#pragma once
// Owns: what the farm's tests share: real processes, trials.

#include <memory>
#include <string>
#include <vector>

#include "rpc/connection/endpoint.h"
#include "tuner/measure/farm_runner.h"

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::farm_test {

// A child process of the test; killed with the object. Its output goes to a file that failed tests print,
// what it says on stderr to a second one if there is.
class Process {
 public:
  Process(std::vector<std::string> arguments, const std::string& output_path,
          const std::string& error_path = "");
  ~Process();
  void signal(int number) const;
  void kill_9();
  // The exit code; minus the number of the signal if one ended it.
  int wait();
  bool has_exited() const;
  bool exited_within(int milliseconds) const;
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
};

// A program of this build.
std::string program(const std::string& name);

// A port on which nobody listens now.
rpc::Endpoint free_endpoint();

// What stands in a file, line by line.
std::vector<std::string> lines_of(const std::string& path);

measure::MeasureRequest request(const tunefarm::farm::v1::Trial& trial, const std::string& candidate,
                                const std::string& reference = "");

}  // namespace tf::farm_test
