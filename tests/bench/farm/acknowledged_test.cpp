#include "tests/bench/farm/acknowledged.h"

#include <gmock/gmock.h>

#include "database/memory_store.h"
#include "tests/farm/stored_candidates.h"

namespace tf::farm_load {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class AcknowledgedTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store_->add_workload(farm_test::made_up_workload()).ok()); }

  static database::Measurement result(const std::string& lease, uint64_t sequence) {
    database::Measurement m;
    m.problem = farm_test::made_up_problem();
    m.schedule = lease;
    for (const int64_t ns : simulated_samples_ns(lease, sequence))
      m.samples.push_back({ns, kSampleIterations});
    m.lease = database::LeaseStamp{.slot = "", .lease_id = lease, .epoch = 1, .sequence = sequence};
    return m;
  }

  void store(const database::Measurement& m) {
    ASSERT_TRUE(store_->insert(m).ok());
    acknowledged_.add(*m.lease);
  }

  const std::unique_ptr<database::Store> store_ = database::make_memory_store();
  Acknowledged acknowledged_;
};

TEST_F(AcknowledgedTest, ResultsThatStandThereOnceAreNoFaults) {
  store(result("a", 1));
  store(result("a", 2));
  store(result("b", 1));
  acknowledged_.add(*result("b", 1).lease);  // the first word of it was lost
  EXPECT_THAT(acknowledged_.faults(*store_), IsEmpty());
}

TEST_F(AcknowledgedTest, AResultThatIsMissingOrOfNobodyOrAnothersIsAFault) {
  acknowledged_.add(*result("a", 1).lease);
  EXPECT_TRUE(store_->insert(result("a", 2)).ok());
  database::Measurement mixed_up = result("b", 1);
  mixed_up.samples = result("b", 2).samples;
  store(mixed_up);
  EXPECT_THAT(acknowledged_.faults(*store_),
              ElementsAre(Pair("a row that is there twice, or was never acknowledged", 1),
                          Pair("a row with another answer than its agent's", 1),
                          Pair("an acknowledged result that is not there", 1)));
}

}  // namespace
}  // namespace tf::farm_load
