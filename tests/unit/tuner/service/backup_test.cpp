#include "tuner/service/backup.h"

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "tuner/service/jobs/model_files.h"

namespace tf::service {
namespace {

using database::JobState;

class BackupTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = database::open_sqlite_store(db_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  void add_job(const std::string& model, JobState state, const std::string& device = "desk") {
    const auto path = files_.begin_use(sha256(model), model);
    ASSERT_TRUE(path.ok()) << path.status();
    ASSERT_TRUE(store_
                    ->add_job({.model_digest = sha256(model).hex(),
                               .model_path = *path,
                               .device = device,
                               .options = "{}",
                               .state = state})
                    .ok());
  }
  static std::string model_of(const std::string& db, const std::string& model) {
    return db + ".models/" + sha256(model).hex() + ".onnx";
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string db_ = folder_.file("t.db"), copy_ = folder_.file("copy.db");
  ModelFiles files_{db_};
  std::unique_ptr<database::Store> store_;
};

TEST_F(BackupTest, HasTheModelsOfJobsThatAreNotOverWhileATunerHasTheDatabaseOpen) {
  add_job("queued", JobState::kQueued);
  add_job("paused", JobState::kPaused);
  add_job("done", JobState::kDone);
  const absl::StatusOr<BackupContents> contents = back_up(db_, copy_);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->jobs, 3);
  EXPECT_EQ(contents->models, 2);
  EXPECT_EQ(*read_file(model_of(copy_, "queued")), "queued");
  EXPECT_EQ(*read_file(model_of(copy_, "paused")), "paused");
  EXPECT_FALSE(std::filesystem::exists(model_of(copy_, "done")));
  auto restored = database::open_sqlite_store(copy_);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ((*restored)->jobs()->size(), 3u);
}

TEST_F(BackupTest, IsNotMadeWithoutAModelThatAJobNeeds) {
  add_job("queued", JobState::kQueued);
  std::filesystem::remove(model_of(db_, "queued"));
  const absl::Status refused = back_up(db_, copy_).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_FALSE(std::filesystem::exists(copy_));
  EXPECT_FALSE(std::filesystem::exists(copy_ + ".models"));
}

TEST_F(BackupTest, DoesNotMixItsModelsWithThoseOfAnotherDatabase) {
  std::filesystem::create_directory(copy_ + ".models");
  const absl::Status refused = back_up(db_, copy_).status();
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
}

}  // namespace
}  // namespace tf::service
