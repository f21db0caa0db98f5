#include "tracker/relay.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Relay, PassesTrialsInOrderAndRepliesOnce) {
  Relay relay;
  EXPECT_TRUE(relay.submit(2, "t2"));
  EXPECT_TRUE(relay.submit(1, "t1"));
  ASSERT_EQ(relay.window(1).size(), 1u);
  EXPECT_EQ(relay.window(9)[0].trial, "t1");
  EXPECT_TRUE(relay.answer(1, "r1"));
  EXPECT_EQ(relay.window(9)[0].trial, "t2");
  EXPECT_THAT(relay.take_replies(), ElementsAre("r1"));
  EXPECT_THAT(relay.take_replies(), IsEmpty());
}

TEST(Relay, SendsUnacknowledgedRepliesAgainOnANewStream) {
  Relay relay;
  relay.submit(1, "t1");
  relay.submit(2, "t2");
  relay.answer(1, "r1");
  relay.answer(2, "r2");
  relay.take_replies();
  relay.acknowledge(1);
  relay.rewind_replies();
  EXPECT_THAT(relay.take_replies(), ElementsAre("r2"));
}

TEST(Relay, DropsWhatComesTwice) {
  Relay relay;
  EXPECT_TRUE(relay.submit(1, "t1"));
  EXPECT_FALSE(relay.submit(1, "t1"));
  EXPECT_TRUE(relay.answer(1, "r1"));
  EXPECT_FALSE(relay.answer(1, "r1 again"));
  EXPECT_FALSE(relay.submit(1, "t1"));
  EXPECT_EQ(relay.unanswered(), 0u);
  EXPECT_EQ(relay.answered(), 1u);
  EXPECT_THAT(relay.take_replies(), ElementsAre("r1"));
}

TEST(Relay, AcknowledgesAgainWhatTheAgentSendsAgain) {
  Relay relay;
  relay.submit(1, "t1");
  relay.answer(1, "r1");
  relay.acknowledge(1);
  EXPECT_THAT(relay.take_acknowledged(), ElementsAre(1));
  EXPECT_FALSE(relay.answer(1, "r1"));
  EXPECT_THAT(relay.take_acknowledged(), ElementsAre(1));
  EXPECT_THAT(relay.take_replies(), IsEmpty());
  EXPECT_FALSE(relay.submit(1, "t1"));
}

TEST(Relay, TakesAReplyWhoseTrialItHasForgotten) {
  // After a restart of the tracker the agent may answer before the holder has sent its trials again.
  Relay relay;
  EXPECT_TRUE(relay.answer(7, "r7"));
  EXPECT_FALSE(relay.submit(7, "t7"));
  EXPECT_THAT(relay.take_replies(), ElementsAre("r7"));
}

TEST(SequenceSet, HoldsExactlyWhatWasInserted) {
  SequenceSet set;
  for (const uint64_t sequence : {3, 1, 2, 7, 5, 6}) set.insert(sequence);
  for (const uint64_t sequence : {1, 2, 3, 5, 6, 7}) EXPECT_TRUE(set.contains(sequence)) << sequence;
  EXPECT_FALSE(set.contains(4));
  EXPECT_FALSE(set.contains(8));
}

}  // namespace
}  // namespace tf::tracker
