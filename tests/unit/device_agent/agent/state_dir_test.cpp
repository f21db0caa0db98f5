#include "device_agent/agent/state_dir.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tf::agent {
namespace {

class StateDirTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::string(testing::TempDir()) + "/state_dir" + std::to_string(getpid());
    std::filesystem::remove_all(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(StateDirTest, RemembersTheNewestLeaseOfEachSlot) {
  {
    const auto dir = *StateDir::open(path_);
    EXPECT_EQ(dir->newest_lease(0).epoch, 0u);
    ASSERT_TRUE(dir->save_newest_lease(0, {"a", 3}).ok());
    ASSERT_TRUE(dir->save_newest_lease(1, {"b", 9}).ok());
    ASSERT_TRUE(dir->save_newest_lease(0, {"c", 4}).ok());
  }
  const auto dir = *StateDir::open(path_);
  EXPECT_EQ(dir->newest_lease(0), (LeaseRef{"c", 4}));
  EXPECT_EQ(dir->newest_lease(1), (LeaseRef{"b", 9}));
}

TEST_F(StateDirTest, KeepsTheIdThatItMade) {
  const std::string id = *(*StateDir::open(path_))->agent_id("");
  EXPECT_FALSE(id.empty());
  EXPECT_EQ(*(*StateDir::open(path_))->agent_id(""), id);
  EXPECT_EQ(*(*StateDir::open(path_))->agent_id("given"), "given");
}

TEST_F(StateDirTest, RefusesASecondAgent) {
  const auto first = StateDir::open(path_);
  ASSERT_TRUE(first.ok());
  const auto second = StateDir::open(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_NE(second.status().message().find("another agent"), absl::string_view::npos);
}

TEST_F(StateDirTest, SaysThatItsEpochsAreDamaged) {
  { ASSERT_TRUE(StateDir::open(path_).ok()); }
  for (const char* damaged :
       {"0 x lease\n", "", "\n", "0 12", "0 12\n", "0 12 \n", "0 12 lea", "0 12 lease\n1 7", "0 12 lease\n\n",
        "0 12 lease more\n", "-1 12 lease\n", "0 -1 lease\n"}) {
    std::ofstream(path_ + "/epochs") << damaged;
    const absl::Status status = StateDir::open(path_).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << '"' << damaged << "\": " << status;
  }
  std::ofstream(path_ + "/epochs") << "0 12 lease\n7 13 other\n";
  const auto whole = StateDir::open(path_);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->newest_lease(7), (LeaseRef{"other", 13}));
}

}  // namespace
}  // namespace tf::agent
