// Tracker, agent and tuner on two hosts whose cable fails, and on disks that are full.

#include <set>
#include <thread>

#include "tests/farm/farm_run.h"
#include "tests/farm/stored_candidates.h"
#include "tests/farm/two_hosts.h"

namespace tf::farm_test {
namespace {

using testing::IsEmpty;

class PartitionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TwoHosts::make();
    if (!made.ok()) GTEST_SKIP() << made.status().message();
    hosts_ = *std::move(made);
  }

  // The agent on host 1, tracker and tuner on host 0, or the tuner beside the agent.
  FarmRunOptions far_apart(int tuner_host = 0) const {
    const rpc::Endpoint listen{.host = TwoHosts::address(0), .port = 7190};
    return {.prefix = {hosts_->on(0), hosts_->on(1), hosts_->on(tuner_host)}, .listen = listen};
  }

  static void expect_finished(FarmRun& run) {
    EXPECT_TRUE(run.finish_job(absl::Seconds(60)));
    EXPECT_THAT(run.problems(), IsEmpty());
    if (!HasFailure()) return;
    for (const std::string& line : lines_of(run.output())) std::fprintf(stderr, "  %s\n", line.c_str());
  }

  std::unique_ptr<TwoHosts> hosts_;
};

TEST_F(PartitionTest, AJobOutlivesACableThatIsPulledForThreeLeaseTimes) {
  FarmRun run(far_apart());
  ASSERT_TRUE(run.begin_job(300, 30));
  ASSERT_TRUE(hosts_->pull_cable().ok());
  std::this_thread::sleep_for(std::chrono::seconds(6));
  ASSERT_TRUE(hosts_->plug_cable().ok());
  expect_finished(run);
}

TEST_F(PartitionTest, AJobOutlivesARouteThatSwallowsWhatTheAgentSays) {
  FarmRun run(far_apart());
  ASSERT_TRUE(run.begin_job(300, 30));
  ASSERT_TRUE(hosts_->swallow().ok());
  std::this_thread::sleep_for(std::chrono::seconds(6));
  ASSERT_TRUE(hosts_->stop_swallowing().ok());
  expect_finished(run);
}

TEST_F(PartitionTest, ALeaseEndsWhileItsTunerIsCutOffAndTheJobGoesOnUnderANewOne) {
  FarmRun run(far_apart(1));
  ASSERT_TRUE(run.begin_job(300, 30));
  ASSERT_TRUE(hosts_->pull_cable().ok());
  std::this_thread::sleep_for(std::chrono::seconds(6));
  ASSERT_TRUE(hosts_->plug_cable().ok());
  expect_finished(run);
  std::set<uint64_t> epochs;
  const absl::StatusOr<std::vector<StoredRow>> rows = stored_rows(run.seen_database());
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (const StoredRow& row : *rows) epochs.insert(row.epoch);
  EXPECT_GT(epochs.size(), 1u);
}

// The disk of one role fills up while it works, the tuner starts again meanwhile, and then there is room
// again.
class FullDiskTest : public PartitionTest, public testing::WithParamInterface<Role> {};

TEST_P(FullDiskTest, AJobOutlivesIt) {
  const Role role = GetParam();
  const int host = role == Role::kAgent ? 1 : 0;
  const TemporaryFolder mount = *TemporaryFolder::make();
  const absl::Status mounted =
      hosts_->shell(host, "mount -t tmpfs -o size=16m,mode=0777 tmpfs " + mount.path());
  if (!mounted.ok()) GTEST_SKIP() << "no tmpfs here: " << mounted.message();
  FarmRunOptions options = far_apart();
  options.folder[static_cast<size_t>(role)] = mount.path();
  if (role == Role::kTuner) options.seen_through = hosts_->root_of(host);
  FarmRun run(options);
  ASSERT_TRUE(run.begin_job(300, 30));
  const std::string fill = mount.path() + "/fill";
  EXPECT_FALSE(hosts_->shell(host, "dd if=/dev/zero bs=4k of=" + fill).ok()) << "the disk is not full";
  std::this_thread::sleep_for(std::chrono::seconds(1));
  run.start(Role::kTuner);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ASSERT_TRUE(hosts_->shell(host, "rm " + fill).ok());
  EXPECT_FALSE(run.has_ended(Role::kTracker));
  EXPECT_FALSE(run.has_ended(Role::kAgent));
  expect_finished(run);
}

INSTANTIATE_TEST_SUITE_P(, FullDiskTest, testing::ValuesIn(kRoles),
                         [](const auto& role) { return "Of" + role_name(role.param); });

}  // namespace
}  // namespace tf::farm_test
