#pragma once
// Owns: a store of each kind, with a workload in it, for the tests of what every Store does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "base/files/temporary_folder.h"
#include "database/memory_store.h"
#include "database/sqlite/sqlite_store.h"
#include "database/store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<Store>(const TemporaryFolder&)> make;
};
inline void PrintTo(const StoreKind& each, std::ostream* out) {
  *out << each.name;
}

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    store_ = GetParam().make(folder_);
    ASSERT_TRUE(store_->add_workload(conv_workload()).ok());
  }

  InsertResult insert(const Measurement& m) {
    absl::StatusOr<InsertResult> result = store_->insert(m);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(InsertResult{});
  }

  std::optional<Measurement> best(const BestQuery& query) {
    absl::StatusOr<std::optional<Measurement>> found = store_->best(query);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::nullopt);
  }

  int64_t count(const Filter& filter) {
    int64_t n = 0;
    EXPECT_TRUE(store_->scan(filter, [&](const Measurement&) { return ++n, absl::OkStatus(); }).ok());
    return n;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<Store> store_;
};

inline auto every_kind_of_store() {
  return testing::Values(StoreKind{"Sqlite",
                                   [](const TemporaryFolder& folder) {
                                     auto store = open_sqlite_store(folder.file("t.db"));
                                     EXPECT_TRUE(store.ok()) << store.status();
                                     return *std::move(store);
                                   }},
                         StoreKind{"Memory", [](const TemporaryFolder&) { return make_memory_store(); }});
}

inline std::string name_of_kind(const testing::TestParamInfo<StoreKind>& kind) {
  return kind.param.name;
}

}  // namespace tf::database
