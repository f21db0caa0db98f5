// What a writer brings to the disk: how much to its log, and when that goes to the file.

#include <filesystem>
#include <latch>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

// Results as a farm brings them: each of another lease than the last, in no order of time or name.
Measurement result(int64_t number) {
  Measurement m = measured(1'000'000 + number * 7919 % 10'007);
  m.schedule += absl::StrCat(" ", number);
  m.lease = LeaseStamp{.slot = absl::StrCat("desk/", number % 100),
                       .lease_id = sha256(absl::StrCat(number % 100)).hex().substr(0, 32),
                       .epoch = 1,
                       .sequence = static_cast<uint64_t>(number / 100 + 1)};
  return m;
}

class Log : public testing::Test {
 protected:
  void open(int64_t log_bytes, absl::Duration checkpoint_interval = absl::Hours(1)) {
    auto store =
        open_sqlite_store(path_, {.log_bytes = log_bytes, .checkpoint_interval = checkpoint_interval});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->add_workload(conv_workload()).ok());
  }

  // Ten a commit.
  void insert(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const Measurement m = result(inserted_++);
      if (i % 10 == 9) {
        EXPECT_TRUE(store_->insert(m).ok());
      } else {
        store_->insert_async(m, Origin::kLive,
                             [](const absl::StatusOr<InsertResult>& kept) { EXPECT_TRUE(kept.ok()); });
      }
    }
  }

  int64_t log_bytes() const { return static_cast<int64_t>(std::filesystem::file_size(path_ + "-wal")); }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string path_ = folder_.file("t.db");
  std::unique_ptr<Store> store_;
  int64_t inserted_ = 0;
};

constexpr int64_t kNever = int64_t{1} << 40;

TEST_F(Log, HasFewBytesOfARow) {
  open(kNever);
  insert(2000);
  const int64_t before = log_bytes();
  insert(500);
  EXPECT_LT((log_bytes() - before) / 500, 8000) << "which pages does a row change, and how large are they?";
}

TEST_F(Log, GoesToTheFileWhenItIsLongAndBeginsAnew) {
  open(64 << 10);
  insert(3000);
  EXPECT_LT(log_bytes(), 4 << 20);
  EXPECT_GT(std::filesystem::file_size(path_), 1u << 20);
}

TEST_F(Log, IsWrittenBackRegularlySoThatACopyOfTheFileAloneHasTheRows) {
  open(kNever, absl::Milliseconds(50));
  const auto rows_in_a_copy = [&]() -> int64_t {
    const std::string copy = folder_.file("copy.db");
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    const auto connection = Connection::open(copy, Access::kFileAlone);
    return connection.ok() ? (*connection)->query_int("SELECT count(*) FROM measurements").value_or(-1) : -1;
  };
  for (const int64_t rows : {10, 20}) {
    insert(10);
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (rows_in_a_copy() != rows && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_EQ(rows_in_a_copy(), rows);
  }
}

TEST_F(Log, ThatSomebodyReadsGoesToTheFileLater) {
  open(64 << 10);
  insert(10);
  auto reader = Connection::open(path_, Access::kReadOnly);
  ASSERT_TRUE((*reader)->execute("BEGIN; SELECT count(*) FROM measurements").ok());
  insert(1000);
  const int64_t while_read = log_bytes();
  EXPECT_GT(while_read, 2 << 20) << "what the reader sees must not change";
  reader->reset();
  insert(3000);
  EXPECT_LT(log_bytes(), while_read + (4 << 20));
}

}  // namespace
}  // namespace tf::database
