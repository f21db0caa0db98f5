#include "database/sqlite/examine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

class Examine : public testing::Test {
 protected:
  void SetUp() override {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(conv_workload()).ok());
    for (int64_t i = 1; i <= 600; ++i)
      (*store)->insert_async(measured(i, i), Origin::kLive,
                             [](const absl::StatusOr<InsertResult>& kept) { EXPECT_TRUE(kept.ok()); });
    ASSERT_TRUE((*store)->add_job({.model_name = "net"}).ok());
  }

  absl::StatusOr<FileContents> examine() { return examine_sqlite_file(path_, absl::Now()); }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string path_ = folder_.file("t.db");
};

TEST_F(Examine, CountsWhatASoundFileHolds) {
  const absl::StatusOr<FileContents> found = examine();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->workloads, 1);
  EXPECT_EQ(found->problems, 1);
  EXPECT_EQ(found->measurements, 600);
  EXPECT_EQ(found->jobs, 1);
  EXPECT_EQ(found->local_in_future + found->imported_in_future, 0);
}

// Noise anywhere: what the writer refuses, the examination finds.
TEST_F(Examine, FindsNoiseThatAWriterRefuses) {
  const std::string sound = *read_file(path_);
  int found = 0;
  for (int eighth = 1; eighth < 8; ++eighth) {
    std::string damaged = sound;
    const size_t begin = sound.size() * static_cast<size_t>(eighth) / 8;
    for (size_t i = begin; i < std::min(begin + 4096, damaged.size()); ++i)
      damaged[i] = static_cast<char>(i * 7919 >> 3);
    ASSERT_TRUE(write_file(path_, damaged).ok());
    const absl::Status examined = examine().status();
    EXPECT_TRUE(absl::IsDataLoss(examined)) << examined;
    const absl::Status opened = open_sqlite_store(path_).status();
    if (!opened.ok()) ++found;
    EXPECT_EQ(*read_file(path_), damaged) << "neither changes it";
  }
  EXPECT_GT(found, 0);
}

TEST_F(Examine, FindsARowThatNoReaderTakes) {
  {
    auto connection = Connection::open(path_, Access::kWrite);
    ASSERT_TRUE((*connection)
                    ->execute("DROP TRIGGER measurements_fixed; "
                              "UPDATE measurements SET median_ns = 5 WHERE id = 400; "
                              "CREATE TRIGGER measurements_fixed BEFORE UPDATE ON measurements\n"
                              "BEGIN SELECT RAISE (ABORT, 'measurements are append-only'); END")
                    .ok());
  }
  ASSERT_TRUE(open_sqlite_store(path_).ok()) << "which reads no rows";
  const absl::Status examined = examine().status();
  EXPECT_TRUE(absl::IsDataLoss(examined)) << examined;
  EXPECT_THAT(std::string(examined.message()), testing::HasSubstr("damaged row 400 of measurements"));
}

TEST_F(Examine, CountsMeasurementsThatAreDatedInTheFuture) {
  const int64_t tomorrow = absl::ToUnixNanos(absl::Now() + absl::Hours(24));
  {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE((*store)->insert(measured(1, tomorrow)).ok());
    ASSERT_TRUE((*store)->insert(measured(2, tomorrow - 5), Origin::kImport).ok());
    ASSERT_TRUE((*store)->insert(measured(3, absl::GetCurrentTimeNanos())).ok());
  }
  const absl::StatusOr<FileContents> found = examine();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->local_in_future, 1);
  EXPECT_EQ(found->imported_in_future, 1);
  EXPECT_EQ(found->latest_unix_ns, tomorrow);
  EXPECT_THAT(found->rows_in_future, testing::ElementsAre(601, 602));
}

}  // namespace
}  // namespace tf::database
