#include "tests/farm/harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/check.h"
#include "base/digest.h"
#include "base/files/owned_fd.h"

extern char** environ;

namespace tf::farm_test {

Process::Process(std::vector<std::string> arguments, const std::string& output_path,
                 const std::string& error_path) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (error_path.empty()) {
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, error_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  TF_CHECK(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0)
      << "cannot start " << argv[0];
  posix_spawn_file_actions_destroy(&actions);
}

Process::~Process() {
  if (pid_ > 0) kill_9();
}

void Process::signal(int number) const {
  kill(pid_, number);
}

void Process::kill_9() {
  signal(SIGKILL);
  wait();
}

int Process::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Process::has_exited() const {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == pid_;
}

bool Process::exited_within(int milliseconds) const {
  for (int waited = 0; waited < milliseconds; waited += 10) {
    if (has_exited()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string program(const std::string& name) {
  return std::string(TF_BINARY_DIR) + "/bin/" + name;
}

rpc::Endpoint free_endpoint() {
  // Below what the kernel gives to outgoing connections, of which the tests beside this one make many: one of
  // them might have the port by the time that a daemon wants it.
  std::uniform_int_distribution<uint16_t> ports(10'000, 32'000);
  std::random_device entropy;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int tries = 0; tries < 1000; ++tries) {
    address.sin_port = htons(ports(entropy));
    const OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return {.host = "127.0.0.1", .port = ntohs(address.sin_port)};
  }
  TF_UNREACHABLE() << "no port is free";
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

measure::MeasureRequest request(const tunefarm::farm::v1::Trial& trial, const std::string& candidate,
                                const std::string& reference) {
  const auto artifact = [](const std::string& bytes) {
    if (bytes.empty()) return measure::ArtifactBytes{};
    return measure::ArtifactBytes{sha256(bytes).hex(), std::make_shared<const std::string>(bytes)};
  };
  return {.candidate = artifact(candidate), .reference = artifact(reference), .trial = &trial};
}

}  // namespace tf::farm_test
