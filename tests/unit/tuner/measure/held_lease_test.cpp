#include "tuner/measure/held_lease.h"

#include <gtest/gtest.h>

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

LeasedDevice lease(const std::string& id) {
  LeasedDevice made;
  made.lease_id = id;
  made.device_id = "d";
  made.slot = 2;
  return made;
}

pb::MeasureReply result(uint64_t sequence) {
  pb::MeasureReply reply;
  reply.set_sequence(sequence);
  reply.mutable_result()->set_sequence(sequence);
  return reply;
}

pb::Trial trial_of(const std::string& artifact) {
  pb::Trial trial;
  trial.set_artifact_digest(artifact);
  return trial;
}

TEST(HeldLease, AnAnswerGoesToItsTrialOnceAndNamesTheSlot) {
  HeldLease held(lease("L"));
  const auto first = held.add({});
  const auto second = held.add({});
  EXPECT_LT(first->sequence, second->sequence);
  EXPECT_TRUE(held.answer(result(second->sequence)));
  EXPECT_FALSE(first->reply);
  ASSERT_TRUE(second->reply);
  EXPECT_EQ(second->reply->result().slot(), "d/2");
  EXPECT_FALSE(held.answer(result(second->sequence)));
  EXPECT_FALSE(held.is_durable(second->sequence)) << "only its holder can say so";
}

TEST(HeldLease, AResultCannotNameAnotherLease) {
  HeldLease held(lease("L"));
  const auto pending = held.add(trial_of("asked"));
  pb::MeasureReply lie = result(pending->sequence);
  lie.mutable_result()->set_lease_id("of another tuner");
  lie.mutable_result()->set_epoch(uint64_t{1} << 62);
  lie.mutable_result()->set_sequence(7);
  ASSERT_TRUE(held.answer(lie));
  const pb::TrialResult& named = pending->reply->result();
  EXPECT_EQ(named.lease_id(), "L");
  EXPECT_EQ(named.epoch(), lease("L").epoch);
  EXPECT_EQ(named.sequence(), pending->sequence);
  EXPECT_EQ(named.artifact_digest(), "asked");
}

TEST(HeldLease, AResultOfAnotherArtifactIsAFailureOfTheDevice) {
  HeldLease held(lease("L"));
  const auto pending = held.add(trial_of("asked"));
  pb::MeasureReply lie = result(pending->sequence);
  lie.mutable_result()->set_artifact_digest("another");
  ASSERT_TRUE(held.answer(lie));
  ASSERT_TRUE(pending->reply->has_failure());
  EXPECT_EQ(pending->reply->failure().kind(), pb::FAILURE_KIND_DEVICE);
  EXPECT_TRUE(held.is_durable(pending->sequence)) << "there is nothing to store";
}

TEST(HeldLease, ThereIsNothingToStoreOfAFailure) {
  HeldLease held(lease("L"));
  const auto trial = held.add({});
  pb::MeasureReply failure;
  failure.set_sequence(trial->sequence);
  failure.mutable_failure()->set_kind(pb::FAILURE_KIND_REFUSED);
  EXPECT_TRUE(held.answer(failure));
  EXPECT_TRUE(held.is_durable(trial->sequence));
}

TEST(HeldLease, MakesRoomBeginningNoTrialUntilTheNextLease) {
  HeldLease held(lease("L"));
  const auto under_way = held.add({});
  held.make_room();
  EXPECT_FALSE(held.begins_trials());
  EXPECT_TRUE(held.is(lease("L")));
  held.drop();
  EXPECT_TRUE(under_way->lost);
  EXPECT_TRUE(under_way->made_room);
  held.begin(lease("M"));
  EXPECT_TRUE(held.begins_trials());
  EXPECT_FALSE(held.answer(result(under_way->sequence))) << "of the lease before";
  const auto next = held.add({});
  held.drop();
  EXPECT_TRUE(next->lost);
  EXPECT_FALSE(next->made_room) << "this one ended against its holder's will";
}

}  // namespace
}  // namespace tf::measure
