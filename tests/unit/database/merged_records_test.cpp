#include "database/merged_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "database/memory_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

std::unique_ptr<Store> store_of(const std::vector<Measurement>& records, Origin origin = Origin::kLive) {
  std::unique_ptr<Store> store = make_memory_store();
  EXPECT_TRUE(store->add_workload(conv_workload()).ok());
  for (const Measurement& m : records) EXPECT_TRUE(store->insert(m, origin).ok());
  return store;
}

std::unique_ptr<Records> merged(const std::vector<std::vector<Measurement>>& of_stores) {
  std::vector<std::unique_ptr<Records>> stores;
  for (const std::vector<Measurement>& records : of_stores) stores.push_back(store_of(records));
  return merge_records(std::move(stores));
}

std::vector<Digest> digests(const absl::StatusOr<std::vector<Measurement>>& found) {
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<Digest> out;
  for (const Measurement& m : *found) out.push_back(record_digest(m));
  return out;
}

std::vector<Digest> scanned(Records& records, const Filter& filter) {
  std::vector<Digest> out;
  EXPECT_TRUE(records
                  .scan(filter,
                        [&](const Measurement& m) {
                          out.push_back(record_digest(m));
                          return absl::OkStatus();
                        })
                  .ok());
  std::ranges::sort(out);
  return out;
}

const BestQuery kConv = {.problem = conv_problem()};

TEST(MergedRecords, OneStoreIsItself) {
  std::vector<std::unique_ptr<Records>> stores;
  stores.push_back(store_of({}));
  const Records* const one = stores[0].get();
  EXPECT_EQ(merge_records(std::move(stores)).get(), one);
}

TEST(MergedRecords, TheFastestOfAllStoresIsTheBest) {
  const auto records = merged({{measured(300, 1)}, {measured(100, 2)}, {measured(200, 3)}});
  EXPECT_EQ(digests(records->top(kConv, 2)),
            (std::vector{record_digest(measured(100, 2)), record_digest(measured(200, 3))}));
  EXPECT_EQ(record_digest(**records->best(kConv)), record_digest(measured(100, 2)));
}

TEST(MergedRecords, AFailureInOneStoreOutdatesAnEarlierTimeInAnother) {
  Measurement failed = measured(100, 5);
  failed.outcome = Outcome::kWrongOutput;
  for (const bool swapped : {false, true}) {
    std::vector<std::vector<Measurement>> stores = {{measured(100, 4), measured(200, 1)}, {failed}};
    if (swapped) std::swap(stores[0], stores[1]);
    EXPECT_EQ(digests(merged(stores)->top(kConv, 5)), std::vector{record_digest(measured(200, 1))});
  }
  failed.finished_unix_ns = 3;
  EXPECT_EQ(digests(merged({{measured(100, 4)}, {failed}})->top(kConv, 5)),
            std::vector{record_digest(measured(100, 4))});
}

TEST(MergedRecords, TheOrderOfAStoreHoldsAgainstItsClock) {
  Measurement slower = measured(100, 1);  // measured again after the clock was set back
  slower.samples = {{5000, 10}};
  const auto records = merged({{measured(100, 9), slower}, {measured(450, 5)}});
  EXPECT_EQ((*records->best(kConv))->median_ns(), 450);
}

TEST(MergedRecords, AnExactProblemAnswersBeforeAnotherReuseDistanceInWhateverStore) {
  Measurement far = measured(50, 1), exact = measured(90, 2);
  far.problem.reuse_distance_bytes = 1 << 20;
  exact.problem.reuse_distance_bytes = 4096;
  const auto records = merged({{far}, {exact}});
  BestQuery query = kConv;
  query.problem.reuse_distance_bytes = 4096;
  EXPECT_EQ((*records->best(query))->median_ns(), 90);
  query.problem.reuse_distance_bytes = 1 << 21;
  EXPECT_EQ((*records->best(query))->median_ns(), 50) << "the nearest";
  EXPECT_EQ(records->problems()->size(), 2u);
}

TEST(MergedRecords, ARecordOfSeveralStoresIsThereOnce) {
  const auto records = merged({{measured(100, 1)}, {measured(100, 1), measured(200, 1)}});
  EXPECT_EQ(scanned(*records, {}).size(), 2u);
  EXPECT_EQ(records->workloads()->size(), 1u);
  EXPECT_TRUE(*records->is_measured(conv_problem(), measured(200).schedule));
  EXPECT_FALSE(*records->is_measured(conv_problem(), measured(300).schedule));
  EXPECT_TRUE(records->find_record(record_digest(measured(200, 1))).ok()) << "of the second store";
  EXPECT_TRUE(absl::IsNotFound(records->find_record(record_digest(measured(200, 2))).status()));
}

TEST(MergedRecords, AWorkloadIsFoundInWhicheverStoreHasIt) {
  std::vector<std::unique_ptr<Records>> stores;
  stores.push_back(make_memory_store());
  stores.push_back(store_of({}));
  const auto records = merge_records(std::move(stores));
  EXPECT_EQ(records->find_workload(conv_workload().key().hex().substr(0, 8))->text, conv_workload().text);
  EXPECT_TRUE(absl::IsNotFound(records->find_workload("0123456789").status()));
  EXPECT_EQ(records->find_workload("xyz").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MergedRecords, TheLatestVerdictOnANetworkCounts) {
  std::vector<std::unique_ptr<Records>> stores;
  NetworkVerdict verdict = some_verdict(), later = some_verdict(), other = some_verdict();
  later.decided_unix_ns = 20;
  later.takes = NetworkVerdict::Takes::kUntuned;
  other.key = sha256("another network");
  other.decided_unix_ns = 15;
  for (const auto& some : {std::vector{verdict, other}, std::vector{later}}) {
    std::unique_ptr<Store> store = store_of({});
    for (const NetworkVerdict& each : some) ASSERT_TRUE(store->save_verdict(each, Origin::kLive).ok());
    stores.push_back(std::move(store));
  }
  EXPECT_EQ(*merge_records(std::move(stores))->verdicts(), (std::vector{later, other}));
}

TEST(MergedRecords, AJobIsRefused) {
  const absl::Status refused =
      merged({{}, {}})->scan({.job_id = 3}, [](const Measurement&) { return absl::OkStatus(); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("give one --db"));
}

TEST(MergedRecords, AnErrorOfAVisitorEndsTheScan) {
  const auto records = merged({{measured(100, 1)}, {measured(200, 1)}});
  int visited = 0;
  EXPECT_TRUE(absl::IsCancelled(records->scan({}, [&](const Measurement&) {
    ++visited;
    return absl::CancelledError("enough");
  })));
  EXPECT_EQ(visited, 1);
}

Measurement random_record(std::mt19937& random, int64_t date) {
  const auto below = [&](uint32_t n) { return random() % n; };
  Measurement m = measured(100 + static_cast<int64_t>(below(6)), date);
  const auto ns = static_cast<int64_t>(50 + below(100));
  m.samples = {{ns * 10, 10}, {ns * 21, 20}};
  constexpr Outcome kOutcomes[] = {Outcome::kOk,           Outcome::kOk,          Outcome::kOk,
                                   Outcome::kStoppedEarly, Outcome::kWrongOutput, Outcome::kCrashed};
  m.outcome = kOutcomes[below(6)];
  m.untuned = below(3) == 0;
  m.device.device_class = below(4) == 0 ? "board" : "desk";
  m.device.fingerprint = below(2) == 0 ? "f00d" : "beef";
  m.problem.reuse_distance_bytes = below(3) * 4096;
  if (below(4) == 0) m.numerics = {"bf16"};
  return m;
}

TEST(MergedRecords, AnswersAsAStoreThatImportedAll) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<Measurement>> of_stores(3);
    std::vector<Measurement> all;
    for (int64_t date = 1; date <= 40; ++date) {
      all.push_back(random_record(random, date));
      of_stores[random() % 3].push_back(all.back());
      if (random() % 8 == 0) of_stores[random() % 3].push_back(all.back());  // shared
    }
    const auto records = merged(of_stores);
    const auto one = store_of(all, Origin::kImport);
    for (const BestQuery::Of of : {BestQuery::Of::kEvery, BestQuery::Of::kUntuned}) {
      for (const uint64_t distance : {0, 4096, 5000}) {
        BestQuery query = kConv;
        query.problem.reuse_distance_bytes = distance;
        query.of = of;
        if (round % 2 == 0) query.device_class = "desk";
        if (round % 3 == 0) query.allowed_numerics = {"bf16"};
        EXPECT_EQ(digests(records->top(query, 4)), digests(one->top(query, 4))) << "round " << round;
        const auto here = records->choose(query), there = one->choose(query);
        ASSERT_TRUE(here.ok() && there.ok());
        ASSERT_EQ(here->has_value(), there->has_value());
        if (*here) {
          EXPECT_EQ((*here)->why, (*there)->why);
        }
      }
    }
    for (const Filter::Which which : {Filter::Which::kAll, Filter::Which::kStanding, Filter::Which::kOk})
      EXPECT_EQ(scanned(*records, {.which = which}), scanned(*one, {.which = which})) << "round " << round;
  }
}

}  // namespace
}  // namespace tf::database
