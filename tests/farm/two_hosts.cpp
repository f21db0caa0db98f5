#include "tests/farm/two_hosts.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"

namespace tf::farm_test {
namespace {

// Enters all that the host's process has made for itself.
std::vector<std::string> enter(const Process& host) {
  return {"/usr/bin/nsenter",      absl::StrCat("--target=", host.pid()), "--user", "--net", "--mount",
          "--preserve-credentials"};
}

absl::Status run(std::vector<std::string> prefix, const std::string& command) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  prefix.insert(prefix.end(), {"/bin/sh", "-ec", command});
  const int code = Process(prefix, folder.file("output")).wait();
  if (code == 0) return absl::OkStatus();
  std::string printed;
  for (const std::string& line : lines_of(folder.file("output"))) printed += line + " ";
  return absl::InternalError(absl::StrCat("\"", command, "\" failed: ", printed));
}

// Unsharing is over once the process has become `sleep`.
bool is_ready(const Process& host) {
  for (int i = 0; i < 200 && !host.has_exited(); ++i) {
    const absl::StatusOr<std::string> name = read_file(absl::StrCat("/proc/", host.pid(), "/comm"));
    if (name.ok() && *name == "sleep\n") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// What leads to 127.9.0.x goes over the cable: it is no longer this host's own.
std::string setup_of(int host) {
  return absl::StrCat(
      "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet; echo 1 > "
      "/proc/sys/net/ipv4/conf/cable/route_localnet; "
      "ip link set lo up; ip addr add ",
      TwoHosts::address(host),
      "/24 dev cable; ip link set cable up; ip route del local 127.0.0.0/8 dev lo table local; "
      "ip route add local 127.0.0.0/16 dev lo table local src 127.0.0.1; ");
}

}  // namespace

std::string TwoHosts::address(int host) {
  return absl::StrCat("127.9.0.", host + 1);
}

std::vector<std::string> TwoHosts::on(int host) const {
  return enter(*hosts_[static_cast<size_t>(host)]);
}

std::string TwoHosts::root_of(int host) const {
  return absl::StrCat("/proc/", hosts_[static_cast<size_t>(host)]->pid(), "/root");
}

absl::Status TwoHosts::shell(int host, const std::string& command) const {
  return run(on(host), "PATH=$PATH:/usr/sbin:/sbin; " + command);
}

absl::StatusOr<std::unique_ptr<TwoHosts>> TwoHosts::make() {
  const auto impossible = [](std::string_view why) {
    return absl::UnavailableError(absl::StrCat("no network namespaces here: ", std::string(why)));
  };
  for (const char* tool : {"/usr/bin/unshare", "/usr/bin/nsenter"})
    if (access(tool, X_OK) != 0) return impossible(absl::StrCat(tool, " is not installed"));
  std::vector<std::unique_ptr<Process>> hosts;
  const std::vector<std::string> sleep = {"/bin/sleep", "1000000"};
  std::vector<std::string> first = {"/usr/bin/unshare", "--user", "--map-root-user", "--net", "--mount"};
  first.insert(first.end(), sleep.begin(), sleep.end());
  hosts.push_back(std::make_unique<Process>(first, "/dev/null"));
  if (!is_ready(*hosts[0]))
    return impossible("the kernel refuses `unshare --user --map-root-user --net --mount`");
  std::vector<std::string> second = enter(*hosts[0]);
  second.insert(second.end(), {"/usr/bin/unshare", "--net", "--mount"});
  second.insert(second.end(), sleep.begin(), sleep.end());
  hosts.push_back(std::make_unique<Process>(second, "/dev/null"));
  if (!is_ready(*hosts[1])) return impossible("the kernel refuses a second `unshare --net`");
  auto made = std::unique_ptr<TwoHosts>(new TwoHosts(std::move(hosts)));
  const std::string peer = absl::StrCat(made->hosts_[1]->pid());
  absl::Status status = made->shell(
      0, absl::StrCat("ip link add cable type veth peer name cable netns ", peer, "; ", setup_of(0)));
  if (status.ok()) status = made->shell(1, setup_of(1));
  if (!status.ok()) return impossible(std::string(status.message()));
  return made;
}

}  // namespace tf::farm_test
