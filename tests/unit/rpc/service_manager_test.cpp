#include "rpc/daemon/service_manager.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/files/owned_fd.h"
#include "base/files/temporary_folder.h"

namespace tf::rpc {
namespace {

// The service manager's end. The environment says where it is as long as it lives.
class ServiceManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_.file("notify");
    ASSERT_LT(path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }

  // The next message; "" if none comes in time.
  std::string next_message(int milliseconds) const {
    pollfd polled = {socket_.get(), POLLIN, 0};
    if (poll(&polled, 1, milliseconds) != 1) return "";
    char text[256];
    const ssize_t size = recv(socket_.get(), text, sizeof text, 0);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const OwnedFd socket_ = OwnedFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
};

TEST_F(ServiceManagerTest, HearsWhenADaemonIsReadyAndWhenItStops) {
  const ServiceManager manager = ServiceManager::from_environment();
  manager.ready();
  manager.stopping();
  EXPECT_EQ(next_message(5000), "READY=1");
  EXPECT_EQ(next_message(5000), "STOPPING=1");
}

TEST_F(ServiceManagerTest, HearsNothingFromADaemonThatItDidNotStart) {
  unsetenv("NOTIFY_SOCKET");
  const ServiceManager manager = ServiceManager::from_environment();
  manager.ready();
  EXPECT_EQ(manager.watchdog_period(), std::nullopt);
  EXPECT_EQ(next_message(0), "");
}

TEST_F(ServiceManagerTest, WaitsForTheProcessThatItWatchesAlone) {
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(ServiceManager::from_environment().watchdog_period(), absl::Seconds(30));
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::from_environment().watchdog_period(), absl::Seconds(30));
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::from_environment().watchdog_period(), std::nullopt);
}

TEST_F(ServiceManagerTest, HearsThatADaemonIsAliveOnlyWhileItAnswers) {
  setenv("WATCHDOG_USEC", "30000", 1);
  const ServiceManager manager = ServiceManager::from_environment();
  std::mutex mutex;
  std::condition_variable changed;
  bool is_stuck = false, waits = false;
  const Watchdog watchdog(manager, [&] {
    std::unique_lock lock(mutex);
    waits = is_stuck;
    changed.notify_all();
    changed.wait(lock, [&] { return !is_stuck; });
    waits = false;
  });
  EXPECT_EQ(next_message(5000), "WATCHDOG=1");
  EXPECT_EQ(next_message(5000), "WATCHDOG=1");
  {
    std::unique_lock lock(mutex);
    is_stuck = true;
    changed.wait(lock, [&] { return waits; });  // from here on it says nothing
  }
  while (!next_message(0).empty()) {  // said before
  }
  EXPECT_EQ(next_message(200), "");
  {
    const std::scoped_lock lock(mutex);
    is_stuck = false;
    changed.notify_all();
  }
  EXPECT_EQ(next_message(5000), "WATCHDOG=1");
}

}  // namespace
}  // namespace tf::rpc
