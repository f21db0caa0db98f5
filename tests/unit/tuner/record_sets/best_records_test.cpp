#include "tuner/record_sets/best_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/unit/tuner/record_sets/samples.h"

namespace tf::record_sets {
namespace {

using testing::HasSubstr;

NetworkVerdict verdict(NetworkVerdict::Takes takes, std::vector<std::string> numerics = {}) {
  NetworkVerdict out = database::some_verdict();
  out.takes = takes;
  out.numerics = std::move(numerics);
  return out;
}

BestRecords best_of(database::Records& records, const Selection& selection = {.device_class = "desk"}) {
  absl::StatusOr<BestRecords> found = best_records(records, selection);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.value_or(BestRecords{});
}

TEST(BestRecords, AreWhatABuildTakesAndWhatThatWasComparedWith) {
  const Measurement slow = record(300), fast = record(100), base = untuned(record(200));
  const BestRecords best = best_of(*store_of({slow, base, fast}));
  EXPECT_EQ(digests(best.records.measurements), digests({fast, base}));
  EXPECT_EQ(best.records.workloads.size(), 1u);
  EXPECT_EQ(best.targets, std::vector<std::string>{"x86_64:cpu=znver4"});
  const auto receiver = store_of(best.records.measurements);
  EXPECT_EQ((*receiver->choose({.problem = database::conv_problem()}))->why, database::Why::kFaster);
}

TEST(BestRecords, HaveThoseOfReducedPrecisionBesideThoseWithout) {
  Measurement exact = record(200), bf16 = record(100), both = record(50);
  bf16.numerics = {"bf16"};
  both.numerics = {"bf16", "winograd"};
  Measurement other_class = record(10);
  other_class.device.device_class = "board";
  Measurement other_meaning = record(20);
  other_meaning.semantics_version = schedule::kSemanticsVersion + 1;
  const auto store = store_of({exact, bf16, both, other_class, other_meaning});
  EXPECT_THAT(digests(best_of(*store).records.measurements),
              testing::UnorderedElementsAreArray(digests({exact, bf16, both})));
}

// Than 200 ns.
Measurement perhaps_faster() {
  Measurement m = record(190);
  m.samples = {{1000, 10}, {1900, 10}, {2900, 10}};
  return m;
}

TEST(BestRecords, FollowVerdictsAndCarryThem) {
  const Measurement fast = perhaps_faster(), base = untuned(record(200));
  const auto fastest = verdict(NetworkVerdict::Takes::kFastest),
             none = verdict(NetworkVerdict::Takes::kUntuned);
  const BestRecords best = best_of(*store_of({base, fast}, {fastest}));
  EXPECT_EQ(best.records.verdicts, std::vector{fastest});
  EXPECT_THAT(digests(best.records.measurements), testing::Contains(record_digest(fast)))
      << "though it is not surely faster";
  const BestRecords plain = best_of(*store_of({base, fast}, {none}));
  EXPECT_EQ(plain.records.measurements.size(), 1u);
  EXPECT_TRUE(plain.records.measurements[0].untuned);
}

TEST(BestRecords, UnderAnotherNameDecideAsTheirVerdictDid) {
  Measurement sure = record(150), base = untuned(record(200)), bf16 = record(100);
  bf16.numerics = {"bf16"};
  for (const auto takes : {NetworkVerdict::Takes::kFastest, NetworkVerdict::Takes::kUntuned}) {
    for (const Measurement& fast : {sure, perhaps_faster()}) {
      const BestRecords best =
          best_of(*store_of({base, fast, bf16}, {verdict(takes)}), {.device_class = "desk", .as = "ryzen"});
      EXPECT_TRUE(best.records.verdicts.empty());
      EXPECT_EQ(best.verdicts_left_out, 1);
      const auto receiver = store_of(best.records.measurements);
      database::BestQuery query{.problem = database::conv_problem(), .device_class = "ryzen"};
      std::optional<Measurement> taken = *receiver->best(query);
      ASSERT_TRUE(taken.has_value());
      EXPECT_EQ(taken->untuned, takes == NetworkVerdict::Takes::kUntuned);
      query.allowed_numerics = {"bf16"};
      taken = *receiver->best(query);
      ASSERT_TRUE(taken.has_value());
      EXPECT_EQ(taken->numerics, bf16.numerics);
    }
  }
}

TEST(BestRecords, LeaveOutOtherTargetsAndWhatTheCallerSays) {
  Measurement other = record(50);
  other.problem.target = "aarch64:cpu=cortex-a72";
  const auto store = store_of({record(100), other});
  const BestRecords best = best_of(*store, {.device_class = "desk", .target = other.problem.target});
  EXPECT_EQ(digests(best.records.measurements), digests({other}));
  const absl::Status none =
      best_records(*store, {.device_class = "desk", .leave_out = [](const Digest&) { return true; }})
          .status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
}

TEST(BestRecords, NoneOfADeviceClassNamesThoseThatThereAre) {
  const absl::Status none = best_records(*store_of({record(100)}), {.device_class = "nokey"}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message(none), HasSubstr("device classes with records: desk"));
}

}  // namespace
}  // namespace tf::record_sets
