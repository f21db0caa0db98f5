#include "device_agent/worker/gpu/turn.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tf::worker::gpu_worker {
namespace {

class TurnTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0); }
  void TearDown() override {
    for (const int end : ends_) close(end);
  }
  void give() const { ASSERT_EQ(send(ends_[1], "", 1, 0), 1); }

  int ends_[2] = {-1, -1};
  const sandbox::CpuSet anywhere_ = {};
};

TEST_F(TurnTest, ComesByAByteOfTheSocketNowOrBefore) {
  Turn turn(ends_[0]);
  for (int job = 0; job < 3; ++job) {
    turn.expect(anywhere_, anywhere_);
    give();
    EXPECT_TRUE(turn.wait());
  }
}

TEST_F(TurnTest, NeverComesOnceTheSupervisorHasGone) {
  Turn turn(ends_[0]);
  turn.expect(anywhere_, anywhere_);
  shutdown(ends_[1], SHUT_RDWR);
  EXPECT_FALSE(turn.wait());
  turn.expect(anywhere_, anywhere_);
  EXPECT_FALSE(turn.wait());
}

}  // namespace
}  // namespace tf::worker::gpu_worker
