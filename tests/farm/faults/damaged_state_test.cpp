// The tracker dies, and what it kept on disk is damaged, cut or gone when it is started again. It refuses
// that and says what to do, or goes on with what is left; either way the job goes on, and no epoch is granted
// twice, because agents tell theirs again.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/files/file.h"
#include "tests/farm/farm_run.h"
#include "tests/farm/wait_until.h"

namespace tf::farm_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Damage {
  std::string name;
  std::function<void(const std::string& state)> inflict;
  bool is_noticed;
};
void PrintTo(const Damage& each, std::ostream* out) {
  *out << each.name;
}

void overwrite(const std::string& path, const std::function<void(std::string& bytes)>& change) {
  std::string bytes = *read_file(path);
  ASSERT_FALSE(bytes.empty()) << path << " has nothing that could be damaged";
  change(bytes);
  ASSERT_TRUE(write_file(path, bytes).ok());
}

void scramble(std::string& bytes, size_t from) {
  for (size_t i = from; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(bytes[i] ^ 0x5a);
}

const std::vector<Damage>& damages() {
  constexpr size_t kPage = 4096, kLogHeader = 32;
  static const std::vector<Damage> all = {
      {"AFileThatIsDamaged",
       [](const std::string& state) { overwrite(state, [](std::string& bytes) { scramble(bytes, kPage); }); },
       true},
      {"AFileThatIsCut",
       [](const std::string& state) {
         overwrite(state, [](std::string& bytes) { bytes.resize(bytes.size() / 2 / kPage * kPage); });
         fs::remove(state + "-wal");
       },
       true},
      {"ALogThatIsDamaged",
       [](const std::string& state) {
         overwrite(state + "-wal", [](std::string& bytes) { scramble(bytes, kLogHeader); });
       },
       false},
      {"ALogThatIsGone", [](const std::string& state) { fs::remove(state + "-wal"); }, false},
      {"EverythingGone",
       [](const std::string& state) {
         for (const char* part : {"", "-wal", "-shm"}) fs::remove(state + part);
       },
       false},
  };
  return all;
}

class DamagedStateTest : public testing::TestWithParam<Damage> {
 protected:
  void stop_tracker(int signal) {
    Process& tracker = run_.process(Role::kTracker);
    tracker.signal(signal);
    ASSERT_TRUE(tracker.exited_within(10000));
  }

  // As its message advises.
  void remove_state() {
    for (const char* part : {"", "-wal", "-shm"}) fs::remove(state_ + part);
  }

  void note_loss() { std::ofstream(run_.history(), std::ios::app) << "{\"event\":\"state_lost\"}\n"; }

  FarmRun run_;
  const std::string state_ = run_.folder(Role::kTracker) + "/tracker.db";
};

TEST_P(DamagedStateTest, CostsNoResultAndGrantsNoEpochTwice) {
  ASSERT_TRUE(run_.begin_job(300, 30));
  // A tracker that ends in peace leaves everything in the file, one that is killed what came since in the
  // log.
  ASSERT_NO_FATAL_FAILURE(stop_tracker(SIGTERM));
  run_.start(Role::kTracker);
  run_.start(Role::kTuner);  // takes a new lease
  ASSERT_TRUE(wait_until([&] {
    if (run_.has_ended(Role::kTuner)) run_.start(Role::kTuner);  // the agent was not there yet
    std::error_code none;
    return fs::file_size(state_ + "-wal", none) > 0 && !none;
  })) << "the second tracker has written nothing";
  // The agent must have heard of the lease: an epoch that only the lost file knew, nobody can tell again.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ASSERT_NO_FATAL_FAILURE(stop_tracker(SIGKILL));
  GetParam().inflict(state_);
  if (HasFatalFailure()) return;
  note_loss();
  run_.start(Role::kTracker);
  if (GetParam().is_noticed) {
    ASSERT_TRUE(run_.process(Role::kTracker).exited_within(10000)) << "it goes on with damaged state";
    EXPECT_EQ(run_.process(Role::kTracker).wait(), 1);
    EXPECT_THAT(
        lines_of(run_.output()),
        Contains(AllOf(HasSubstr(state_), AnyOf(HasSubstr("restore a copy"), HasSubstr("give another")))));
    remove_state();
    run_.start(Role::kTracker);
  }
  EXPECT_TRUE(run_.finish_job(absl::Seconds(60)));
  EXPECT_FALSE(run_.has_ended(Role::kAgent));
  EXPECT_THAT(run_.problems(), IsEmpty());
  if (!HasFailure()) return;
  for (const std::string& line : lines_of(run_.output())) std::fprintf(stderr, "  %s\n", line.c_str());
}

INSTANTIATE_TEST_SUITE_P(, DamagedStateTest, testing::ValuesIn(damages()),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace tf::farm_test
