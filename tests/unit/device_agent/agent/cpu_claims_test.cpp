#include "device_agent/agent/machine/cpu_claims.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPrefix = absl::StrCat("tunefarm-test-", getpid(), "-");

TEST(CpuClaims, SecondAgentOnTheSameCpusLearnsOfTheFirst) {
  const CpuClaims first({0, 1, 2}, kPrefix);
  EXPECT_THAT(first.of_others(), IsEmpty());
  EXPECT_THAT(shared_cpu_warnings(first), IsEmpty());
  const CpuClaims second({2, 1, 7}, kPrefix);
  EXPECT_THAT(second.of_others(), ElementsAre(ClaimedCpus{.pid = getpid(), .cpus = {2, 1}}));
  EXPECT_THAT(shared_cpu_warnings(second),
              ElementsAre(HasSubstr(absl::StrCat("process id ", getpid(), " offers CPUs 2,1 too"))));
}

TEST(CpuClaims, EndWithTheirHolder) {
  std::optional<CpuClaims> first(std::in_place, std::vector<uint32_t>{3}, kPrefix);
  EXPECT_THAT(CpuClaims({3}, kPrefix).of_others(), testing::SizeIs(1));
  first.reset();
  EXPECT_THAT(CpuClaims({3}, kPrefix).of_others(), IsEmpty());
}

TEST(CpuClaims, AreToldEvenWhenManyHaveAsked) {
  const CpuClaims first({4}, kPrefix);
  for (int i = 0; i < 200; ++i) EXPECT_THAT(CpuClaims({4}, kPrefix).of_others(), testing::SizeIs(1));
}

}  // namespace
}  // namespace tf::agent
