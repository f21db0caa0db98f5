#include "tuner/service/farm/tracker_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/server.h"
#include "tests/support/captured_log.h"

namespace tf::service {
namespace {

// False: not within half a minute.
bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 3000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_true();
}

TEST(TrackerWatch, TellsOnceThatItsTrackerIsAwayAndOnceThatItIsBack) {
  tunefarm::farm::v1::Tuners::Service first, second;
  std::unique_ptr<rpc::Server> tracker = *rpc::Server::start({"127.0.0.1", 0}, {&first});
  const rpc::Endpoint at = tracker->endpoint();
  const std::string away = "no tracker answers at " + at.text();
  const std::string back = "the tracker at " + at.text() + " answers";
  tracker = nullptr;
  const CapturedLog log;
  const TrackerWatch watch(at, nullptr);
  ASSERT_TRUE(wait_until([&] { return log.count(away) > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // it tries again
  EXPECT_EQ(log.count(away), 1) << log.text();
  tracker = *rpc::Server::start(at, {&second});
  ASSERT_TRUE(wait_until([&] { return log.count(back) > 0; })) << log.text();
  EXPECT_EQ(log.count(away), 1) << log.text();
  tracker = nullptr;
  ASSERT_TRUE(wait_until([&] { return log.count(away) > 1; })) << log.text();
  EXPECT_EQ(log.count(back), 1) << log.text();
}

TEST(TrackerWatch, SaysNothingOfATrackerThatIsThere) {
  tunefarm::farm::v1::Tuners::Service served;
  const std::unique_ptr<rpc::Server> tracker = *rpc::Server::start({"127.0.0.1", 0}, {&served});
  const CapturedLog log;
  {
    const TrackerWatch watch(tracker->endpoint(), nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  }
  EXPECT_EQ(log.text(), "");
}

}  // namespace
}  // namespace tf::service
