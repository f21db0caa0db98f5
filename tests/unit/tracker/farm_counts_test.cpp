#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/service/metrics.h"

namespace tf::tracker {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST_F(FarmTest, CountsDevicesInOneStateEach) {
  for (const char* id : {"ready", "away", "cordoned", "drained", "stopping"}) {
    const auto session = attach(id);
    if (std::string(id) == "away") farm_->detach(session);
    if (std::string(id) == "stopping") farm_->report(session, {}, true);
  }
  ASSERT_TRUE(farm_->set_admission("cordoned", Admission::kCordoned).ok());
  attach("draining", "other");
  lease("other");
  ASSERT_TRUE(farm_->set_admission("drained", Admission::kDraining).ok());
  ASSERT_TRUE(farm_->set_admission("draining", Admission::kDraining).ok());
  const FarmCounts counts = farm_->counts();
  EXPECT_THAT(counts.devices,
              UnorderedElementsAre(Pair("ready", 1), Pair("away", 1), Pair("cordoned", 1),
                                   Pair("draining", 2), Pair("drained", 1), Pair("quarantined", 0)));
  EXPECT_EQ(counts.ready_slots, 1u);
}

TEST_F(FarmTest, CountsGrantsFromRequestToAnswerAndWhatIsUnderWay) {
  const auto session = attach("a");
  const Lease first = lease();
  const auto waiting = acquire("box", absl::Minutes(2), "second");
  const auto stream = farm_->open_stream(first.id, first.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "t1");
  farm_->submit(*stream, 2, "t2");
  farm_->report(session, {reply(first, 1)}, false);
  farm_->report(session, {reply(first, 1)}, false);
  FarmCounts counts = farm_->counts();
  EXPECT_EQ(counts.leases, 1u);
  EXPECT_EQ(counts.waiting, 1u);
  EXPECT_EQ(counts.unanswered_trials, 1u);
  EXPECT_EQ(counts.replies_relayed, 1u) << "a repeated answer counts once";
  clock_.advance(absl::Seconds(40));
  farm_->release(first.id, first.epoch);
  ASSERT_TRUE(waiting->grant && waiting->grant->ok());
  counts = farm_->counts();
  EXPECT_EQ(counts.waiting, 0u);
  EXPECT_EQ(counts.leases_granted, 2u);
  EXPECT_EQ(counts.grant_time.count, 2u);
  EXPECT_NEAR(counts.grant_time.sum_s, 40, 1e-6);
}

TEST(TrackersMetrics, HaveTheirUnitsAndKindsInTheirNames) {
  for (const rpc::MetricFamily& family : metrics_of({})) {
    EXPECT_TRUE(family.name.starts_with("tunefarm_tracker_")) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.kind == rpc::MetricKind::kCounter) << family.name;
    EXPECT_EQ(family.name.ends_with("_seconds"), family.kind == rpc::MetricKind::kHistogram) << family.name;
    EXPECT_NE(family.help, "") << family.name;
  }
}

}  // namespace
}  // namespace tf::tracker
