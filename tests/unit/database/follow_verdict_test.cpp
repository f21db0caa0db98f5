#include "database/follow_verdict.h"

#include <gtest/gtest.h>

#include "tests/unit/database/sample_records.h"

namespace tf::database {
namespace {

using Takes = NetworkVerdict::Takes;

NetworkVerdict verdict_of(const std::string& device_class, Takes takes) {
  NetworkVerdict verdict = some_verdict();
  verdict.device_class = device_class;
  verdict.takes = takes;
  return verdict;
}

BestQuery followed(const std::vector<NetworkVerdict>& verdicts, BestQuery query) {
  follow_verdict(verdicts, query);
  return query;
}

TEST(FollowVerdict, TakesTheLatestOfAnyDeviceClassUnlessOneIsAskedFor) {
  const std::vector<NetworkVerdict> verdicts = {verdict_of("desk", Takes::kUntuned),
                                                verdict_of("lab", Takes::kFastest)};
  const BestQuery any{.problem = conv_problem(), .allowed_numerics = some_verdict().numerics};
  EXPECT_EQ(followed(verdicts, any).takes, Takes::kUntuned);
  EXPECT_EQ(followed(verdicts, any).device_class, "desk");
  BestQuery in_the_lab = any;
  in_the_lab.device_class = "lab";
  EXPECT_EQ(followed(verdicts, in_the_lab).takes, Takes::kFastest);
}

TEST(FollowVerdict, LeavesAQueryAsItIsWhereNoVerdictCounts) {
  const std::vector<NetworkVerdict> verdicts = {verdict_of("desk", Takes::kUntuned)};
  const BestQuery asked{.problem = conv_problem(), .allowed_numerics = some_verdict().numerics};
  ASSERT_TRUE(followed(verdicts, asked).takes.has_value());
  BestQuery other = asked;
  other.problem.workload = sha256("of no network");
  EXPECT_FALSE(followed(verdicts, other).takes.has_value());
  other = asked;
  other.problem.target = "x86_64:cpu=haswell";
  EXPECT_FALSE(followed(verdicts, other).takes.has_value());
  other = asked;
  other.problem.threads = 1;
  EXPECT_FALSE(followed(verdicts, other).takes.has_value());
  other = asked;
  other.allowed_numerics = {};
  EXPECT_FALSE(followed(verdicts, other).takes.has_value());
  other = asked;
  other.device_class = "lab";
  EXPECT_FALSE(followed(verdicts, other).takes.has_value());
  EXPECT_EQ(followed(verdicts, other).device_class, "lab");
}

}  // namespace
}  // namespace tf::database
