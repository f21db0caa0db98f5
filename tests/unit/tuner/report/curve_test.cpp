#include "tuner/report/curve.h"

#include <gmock/gmock.h>

#include <random>

#include "database/which_count.h"
#include "tests/unit/tuner/report/sample_report.h"

namespace tf::report {
namespace {

using database::Measurement;
using database::Outcome;
using testing::ElementsAre;

// The fastest of those that count, as the database's own rule says.
double fastest_of(const std::vector<Measurement>& measurements) {
  double least = 0;
  for (const Measurement* each : database::which_count(measurements)) {
    if (!database::is_answer(*each)) continue;
    if (least == 0 || *each->median_ns() < least) least = *each->median_ns();
  }
  return least;
}

class CurveTest : public ReportTest {
 protected:
  static Measurement random_measurement(std::mt19937& random) {
    const int schedule = static_cast<int>(random() % 4);
    const double at_s = static_cast<double>(random() % 10);
    Measurement m =
        random() % 3 == 0
            ? failed(8, schedule, random() % 2 ? Outcome::kCrashed : Outcome::kWrongOutput, at_s, 1)
            : measured(8, schedule, static_cast<int64_t>(10 + random() % 50), at_s, 1);
    m.device.fingerprint = random() % 4 == 0 ? "other" : "f00d";
    m.device.load_1min = static_cast<double>(random());  // no two are the same record
    return m;
  }
};

TEST_F(CurveTest, TheBestIsThatOfTheDatabasesRuleAfterEachMeasurement) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::unique_ptr<database::Store> store = database::make_memory_store();
    ASSERT_TRUE(store->add_workload(workload(8)).ok());
    Columns columns;
    std::vector<Measurement> inserted;
    for (int i = 0; i < 25; ++i) {
      const auto result = store->insert(random_measurement(random), database::Origin::kLive);
      ASSERT_TRUE(result.ok()) << result.status();
      inserted.push_back(*store->find_row(result->id));
      ASSERT_TRUE(columns.refresh(*store).ok());
      const std::vector<Change> changes =
          changes_of_best(columns, 0, std::vector<bool>(columns.settings().size(), true), UINT32_MAX);
      EXPECT_EQ(changes.empty() ? 0 : changes.back().ns, fastest_of(inserted))
          << "seed " << seed << ", " << i;
    }
  }
}

TEST_F(CurveTest, ImportedRecordsTakeTheirPlaceByDate) {
  const std::unique_ptr<database::Store> store = database::make_memory_store();
  ASSERT_TRUE(store->add_workload(workload(8)).ok());
  std::vector<Measurement> inserted;
  const auto add = [&](const Measurement& m, database::Origin origin) {
    inserted.push_back(*store->find_row(store->insert(m, origin)->id));
  };
  add(measured(8, 1, 100, 10, 1), database::Origin::kLive);
  add(measured(8, 1, 20, 5, 0), database::Origin::kImport);  // older
  add(measured(8, 2, 60, 12, 0), database::Origin::kImport);
  add(measured(8, 2, 80, 11, 0), database::Origin::kImport);  // older than the one before
  Columns columns;
  ASSERT_TRUE(columns.refresh(*store).ok());
  const std::vector<Change> changes =
      changes_of_best(columns, 0, std::vector<bool>(columns.settings().size(), true), UINT32_MAX);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.back().ns, fastest_of(inserted));
  EXPECT_EQ(changes.back().ns, 60);
}

TEST_F(CurveTest, OnlyWantedSettingsAndEarlierEntriesCount) {
  insert(measured(8, 1, 100, 1, 1));
  Measurement elsewhere = measured(8, 2, 10, 2, 1);
  elsewhere.device.device_class = "phone";
  insert(elsewhere);
  insert(measured(8, 3, 50, 3, 1));
  Columns columns;
  ASSERT_TRUE(columns.refresh(*store_).ok());
  EXPECT_EQ(changes_of_best(columns, 0, {true, false}, 3).back().ns, 50);
  EXPECT_EQ(changes_of_best(columns, 0, {true, false}, 2).back().ns, 100);
  EXPECT_EQ(changes_of_best(columns, 0, {true, true}, 3).back().ns, 10);
  EXPECT_TRUE(changes_of_best(columns, 0, {false, false}, 3).empty());
}

TEST(Thinning, KeepsEndsAndTheLeastOfEachSpan) {
  std::vector<double> at_s, values;
  for (int i = 0; i < 100; ++i) {
    at_s.push_back(i);
    values.push_back(i == 37 ? 1 : 100 - i / 10);
  }
  const std::vector<size_t> kept = thinned_changes(at_s, values, 12);
  EXPECT_LE(kept.size(), 12u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 99u);
  EXPECT_THAT(kept, testing::Contains(37u));
  EXPECT_EQ(thinned_changes(at_s, values, 100).size(), 100u);
  EXPECT_TRUE(thinned_changes({}, {}, 4).empty());
  const std::vector<double> same(50, 3.0);  // all at one moment
  EXPECT_LE(thinned_changes(same, same, 4).size(), 4u);
}

TEST(Thinning, TheLeastIsATimeThoughNothingCountsForAWhile) {
  std::vector<double> at_s, values;
  for (int i = 0; i < 100; ++i) {
    at_s.push_back(i);
    values.push_back(i == 38 ? 0 : i == 37 ? 1 : 50);
  }
  EXPECT_THAT(thinned_changes(at_s, values, 8), testing::Contains(37u));
}

}  // namespace
}  // namespace tf::report
