#include "tracker/leases/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Relay, TakesTrialsUpToTheirLimitOfCountAndOfBytes) {
  Relay by_count({.trials = 2, .trial_bytes = 100});
  by_count.submit(1, "t");
  EXPECT_TRUE(by_count.takes_trials());
  by_count.submit(2, "t");
  EXPECT_FALSE(by_count.takes_trials());
  by_count.answer(2, "r");
  EXPECT_TRUE(by_count.takes_trials());

  Relay by_bytes({.trials = 100, .trial_bytes = 10});
  by_bytes.submit(1, "four");
  by_bytes.submit(2, "four");
  EXPECT_TRUE(by_bytes.takes_trials());
  by_bytes.submit(3, "ab");
  EXPECT_FALSE(by_bytes.takes_trials());
  by_bytes.acknowledge(1);  // withdrawn
  EXPECT_TRUE(by_bytes.takes_trials());
  EXPECT_EQ(by_bytes.bytes(), 6u);
}

TEST(Relay, GivesTheDeviceNothingWhileAnswersAreAtTheirLimit) {
  Relay relay({.trials = 9, .trial_bytes = 100, .replies = 2, .reply_bytes = 10});
  for (const uint64_t sequence : {1, 2, 3}) relay.submit(sequence, "t");
  relay.answer(1, "0123456789");
  EXPECT_THAT(relay.window(9), IsEmpty()) << "by bytes";
  relay.acknowledge(1);
  EXPECT_EQ(relay.window(9).size(), 2u);
  relay.answer(2, "");
  relay.answer(3, "");
  relay.submit(4, "t");
  EXPECT_THAT(relay.window(9), IsEmpty()) << "by count";
}

TEST(Relay, KeepsNoMoreForgedAnswersThanTwiceTheLimit) {
  Relay relay({.trials = 9, .trial_bytes = 100, .replies = 4, .reply_bytes = 1000});
  for (uint64_t sequence = 1; sequence < 100; ++sequence) relay.answer(sequence, std::string(20, 'x'));
  EXPECT_EQ(relay.unacknowledged(), 8u);
  EXPECT_EQ(relay.bytes(), 160u);
}

TEST(Relay, RemembersNoAcknowledgementOfWhatItNeverHad) {
  Relay relay;
  for (uint64_t sequence = 2; sequence < 1000; sequence += 2) relay.acknowledge(sequence);
  EXPECT_THAT(relay.take_acknowledged(), IsEmpty());
  EXPECT_TRUE(relay.answer(4, "r4")) << "sent again, so that its holder acknowledges it again";
}

TEST(Relay, AcknowledgementsForAnAgentThatTakesNoneAreKeptOnceAndNotWithoutEnd) {
  Relay relay;
  relay.submit(1, "t1");
  relay.acknowledge(1);
  for (int i = 0; i < 100; ++i) relay.answer(1, "r1");
  EXPECT_THAT(relay.take_acknowledged(), ElementsAre(1));
  for (uint64_t sequence = 2; sequence < 10'000; ++sequence) {
    relay.submit(sequence, "t");
    relay.acknowledge(sequence);
  }
  EXPECT_EQ(relay.take_acknowledged().size(), Relay::kMostAcknowledged);
  EXPECT_FALSE(relay.answer(9'999, "r"));
  EXPECT_THAT(relay.take_acknowledged(), ElementsAre(9'999)) << "who sends it again hears it";
}

TEST(Relay, GapsInWhatIsAcknowledgedAreManyOnlyIfTheHolderLeavesThem) {
  Relay fair;
  for (uint64_t sequence = 1; sequence < 100'000; ++sequence) {
    // As after a restart of the tracker, and not strictly in order.
    const uint64_t next = 1'000'000 + (sequence ^ 255);
    fair.submit(next, "t");
    fair.acknowledge(next);
    ASSERT_TRUE(fair.is_in_order()) << sequence;
  }
  Relay sparse;
  uint64_t sequence = 0;
  while (sparse.is_in_order()) {
    ASSERT_LT(sequence, 100'000u);
    sequence += 2;
    sparse.submit(sequence, "t");
    sparse.acknowledge(sequence);
  }
  EXPECT_EQ(sequence, 2 * Relay::kMostRuns);
}

TEST(Relay, WindowIsLimitedInBytesButNeverEmpty) {
  Relay relay;
  relay.submit(1, std::string(rpc::kWindowBytes + 1, 'x'));
  relay.submit(2, "small");
  EXPECT_EQ(relay.window(4).size(), 1u);
}

}  // namespace
}  // namespace tf::tracker
