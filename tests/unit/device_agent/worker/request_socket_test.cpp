#include "device_agent/worker/sandbox/request_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/files/owned_fd.h"

namespace tf::worker::sandbox {
namespace {

class RequestSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = OwnedFd(ends[0]);
    theirs_ = OwnedFd(ends[1]);
  }
  void send_go(uint64_t id) {
    const Go go = {.id = id, .cpus = {}};
    ASSERT_EQ(send(ours_.get(), &go, sizeof go, 0), static_cast<ssize_t>(sizeof go));
  }
  void send_request(uint64_t id) {
    const OwnedFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
    Received sent = {.request = {.id = id}, .fd_count = kFirstBlobFd};
    for (uint32_t i = 0; i < sent.fd_count; ++i) sent.fds[i] = file.get();
    ASSERT_TRUE(pass_on(ours_.get(), sent));
  }
  // The next request's; 0 at the end.
  uint64_t received_id() {
    Received received = {};
    if (!receive(theirs_.get(), &received)) return 0;
    EXPECT_EQ(received.fd_count, uint32_t{kFirstBlobFd});
    close_all(received);
    return received.request.id;
  }

  OwnedFd ours_, theirs_;
};

TEST_F(RequestSocketTest, SkipsWhatCameTooLateForItsChild) {
  send_go(1);
  send_go(2);
  send_request(3);
  send_go(3);
  EXPECT_EQ(received_id(), 3);
  ours_ = OwnedFd();
  EXPECT_EQ(received_id(), 0) << "only the late Go is left";
}

TEST_F(RequestSocketTest, DropsOneGoAtATimeAndNothingElse) {
  send_go(1);
  send_go(1);
  send_request(2);
  EXPECT_TRUE(drops_go(theirs_.get()));
  EXPECT_TRUE(drops_go(theirs_.get()));
  EXPECT_FALSE(drops_go(theirs_.get()));
  EXPECT_EQ(received_id(), 2);
  ours_ = OwnedFd();
  EXPECT_FALSE(drops_go(theirs_.get()));
}

}  // namespace
}  // namespace tf::worker::sandbox
