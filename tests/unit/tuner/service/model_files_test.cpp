#include "tuner/service/jobs/model_files.h"

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf::service {
namespace {

using database::JobState;

class ModelFilesTest : public testing::Test {
 protected:
  std::string path_of(const std::string& model) const {
    return absl::StrCat(models_folder_, "/", sha256(model).hex(), ".onnx");
  }
  bool is_kept(const std::string& model) const { return std::filesystem::exists(path_of(model)); }
  void put_file(const std::string& path) {
    std::filesystem::create_directories(models_folder_);
    ASSERT_TRUE(write_file(path, "bytes").ok());
  }
  static database::Job job_of(const std::string& model, JobState state, const std::string& device = "desk") {
    return {.model_digest = sha256(model).hex(), .device = device, .state = state};
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string models_folder_ = folder_.file("t.db.models");
  ModelFiles files_{folder_.file("t.db")};
};

TEST_F(ModelFilesTest, AModelIsKeptUntilItsLastUseEnds) {
  const Digest digest = sha256("net");
  EXPECT_EQ(*files_.begin_use(digest, "net"), path_of("net"));
  EXPECT_EQ(*files_.begin_use(digest, "net"), path_of("net"));
  files_.end_use(digest);
  EXPECT_EQ(*read_file(path_of("net")), "net");
  files_.end_use(digest);
  EXPECT_FALSE(is_kept("net"));
  ASSERT_TRUE(files_.begin_use(digest, "net").ok());
  EXPECT_TRUE(is_kept("net")) << "it may come again";
}

TEST_F(ModelFilesTest, AModelIsKeptBesideTheDatabaseItselfByWhateverLinkThatIsNamed) {
  std::filesystem::create_directory(folder_.file("links"));
  std::filesystem::create_symlink(folder_.file("t.db"), folder_.file("links/other.db"));
  ModelFiles files(folder_.file("links/other.db"));
  EXPECT_EQ(*files.begin_use(sha256("net"), "net"), path_of("net"));
  files_.take_over({job_of("net", JobState::kQueued)});
  EXPECT_TRUE(is_kept("net")) << "another name finds it";
  files.end_use(sha256("net"));
  EXPECT_FALSE(is_kept("net"));
}

TEST_F(ModelFilesTest, TakesOverWhatUnfinishedJobsNeedAndRemovesTheRest) {
  for (const char* model : {"queued", "paused", "running", "done", "nobody's"}) put_file(path_of(model));
  const std::string half_written = path_of("queued") + ".17.tmp", foreign = models_folder_ + "/readme.txt";
  put_file(half_written);
  put_file(foreign);
  files_.take_over({job_of("queued", JobState::kQueued), job_of("paused", JobState::kPaused),
                    job_of("running", JobState::kRunning), job_of("done", JobState::kDone)});
  for (const char* model : {"queued", "paused", "running"}) EXPECT_TRUE(is_kept(model)) << model;
  for (const char* model : {"done", "nobody's"}) EXPECT_FALSE(is_kept(model)) << model;
  EXPECT_FALSE(std::filesystem::exists(half_written));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(ModelFilesTest, CountsTheUsesThatItHasTakenOver) {
  put_file(path_of("net"));
  files_.take_over({job_of("net", JobState::kQueued), job_of("net", JobState::kPaused)});
  files_.end_use(job_of("net", JobState::kDone));
  EXPECT_TRUE(is_kept("net"));
  files_.end_use(job_of("net", JobState::kCancelled));
  EXPECT_FALSE(is_kept("net"));
}

TEST_F(ModelFilesTest, EmbeddedRunsAndDamagedRowsUseNothingHere) {
  put_file(path_of("net"));
  files_.take_over({job_of("net", JobState::kQueued),
                    job_of("net", JobState::kPaused, ""),
                    {.model_digest = "../../t", .device = "desk"}});
  files_.end_use(job_of("net", JobState::kCancelled, ""));
  files_.end_use({.model_digest = "../../t", .device = "desk"});
  EXPECT_TRUE(is_kept("net"));
  files_.end_use(job_of("net", JobState::kFailed));
  EXPECT_FALSE(is_kept("net"));
}

TEST_F(ModelFilesTest, AModelThatCannotBeKeptHasNoUse) {
  ASSERT_TRUE(write_file(models_folder_, "no folder").ok());
  EXPECT_FALSE(files_.begin_use(sha256("net"), "net").ok());
  std::filesystem::remove(models_folder_);
  ASSERT_TRUE(files_.begin_use(sha256("net"), "net").ok());
  files_.end_use(sha256("net"));
  EXPECT_FALSE(is_kept("net"));
}

TEST_F(ModelFilesTest, AModelIsWholeForEverybodyWhoUsesIt) {
  const std::string model(300'000, 'm');
  const Digest digest = sha256(model);
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int k = 0; k < 10; ++k) {
        const auto path = files_.begin_use(digest, model);
        ASSERT_TRUE(path.ok()) << path.status();
        EXPECT_TRUE(read_file(*path).value_or("") == model);
        files_.end_use(digest);
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_FALSE(is_kept(model));
}

}  // namespace
}  // namespace tf::service
