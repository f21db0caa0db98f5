// What every Store does, whatever keeps it.

#include "tests/unit/database/store_contract.h"

#include <latch>

namespace tf::database {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_P(StoreContract, KeepsEveryFieldOfAMeasurement) {
  Measurement m = measured(100);
  m.numerics = {"bf16", "winograd"};
  m.outcome = Outcome::kCrashed;
  m.detail = "signal 11";
  m.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 7, .sequence = 9};
  m.job_id = 4;
  m.problem.reuse_distance_bytes = 12 << 20;
  m.untuned = true;
  m.cache_mode = CacheMode::kWarm;
  m.interleaved = Interleaved{.began_unix_ns = 5, .ns = 99.5, .interval_ns = {98.5, 101.25}};
  insert(m);
  std::vector<Measurement> kept;
  ASSERT_TRUE(
      store_->scan({}, [&](const Measurement& r) { return kept.push_back(r), absl::OkStatus(); }).ok());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(record_digest(kept[0]), record_digest(m));
  EXPECT_EQ(kept[0].job_id, 4);
  EXPECT_EQ(kept[0].choices, m.choices);
  EXPECT_EQ(kept[0].samples, m.samples);
  EXPECT_EQ(kept[0].device, m.device);
  EXPECT_EQ(kept[0].lease, m.lease);
  EXPECT_EQ(kept[0].interleaved, m.interleaved);
  EXPECT_EQ(kept[0].median_ns(), 99.5);
}

TEST_P(StoreContract, KeepsTheLastVerdictOfEachNetworkAndDevice) {
  const NetworkVerdict first = some_verdict();
  ASSERT_TRUE(store_->save_verdict(first, Origin::kLive).ok());
  EXPECT_THAT(*store_->verdicts(), ElementsAre(first));
  NetworkVerdict elsewhere = first, again = first;
  elsewhere.key = sha256("another");
  elsewhere.device_class = "phone";
  elsewhere.decided_unix_ns = 20;
  ASSERT_TRUE(store_->save_verdict(elsewhere, Origin::kLive).ok());
  again.takes = NetworkVerdict::Takes::kUntuned;
  again.why = "it is slower";
  again.numerics = {};
  again.kernels = {};
  again.decided_unix_ns = 5;  // the clock was set
  ASSERT_TRUE(store_->save_verdict(again, Origin::kLive).ok());
  EXPECT_THAT(*store_->verdicts(), ElementsAre(elsewhere, again)) << "the latest first";
}

TEST_P(StoreContract, AnImportedVerdictReplacesOnlyAnEarlierOne) {
  NetworkVerdict mine = some_verdict(), older = mine, newer = mine;
  older.why = "older";
  older.decided_unix_ns = mine.decided_unix_ns;
  newer.why = "newer";
  newer.decided_unix_ns = mine.decided_unix_ns + 1;
  ASSERT_TRUE(store_->save_verdict(mine, Origin::kImport).ok());
  ASSERT_TRUE(store_->save_verdict(older, Origin::kImport).ok());
  EXPECT_THAT(*store_->verdicts(), ElementsAre(mine));
  ASSERT_TRUE(store_->save_verdict(newer, Origin::kImport).ok());
  EXPECT_THAT(*store_->verdicts(), ElementsAre(newer));
}

TEST_P(StoreContract, BestIsTheLeastMedian) {
  insert(measured(300));
  insert(measured(100));
  insert(measured(200));
  ASSERT_TRUE(best({conv_problem()}).has_value());
  EXPECT_EQ(best({conv_problem()})->median_ns(), 100);
}

TEST_P(StoreContract, BestOfEqualsIsTheOlder) {
  Measurement first = measured(100, 1), second = measured(100, 2);
  second.schedule = "another";
  insert(first);
  insert(second);
  EXPECT_EQ(best({conv_problem()})->finished_unix_ns, 1);
}

TEST_P(StoreContract, TopIsOrderedAndLimited) {
  for (int64_t ns : {500, 100, 400, 200}) insert(measured(ns));
  absl::StatusOr<std::vector<Measurement>> top = store_->top({conv_problem()}, 3);
  ASSERT_TRUE(top.ok());
  std::vector<double> medians;
  for (const Measurement& m : *top) medians.push_back(*m.median_ns());
  EXPECT_THAT(medians, ElementsAre(100, 200, 400));
}

TEST_P(StoreContract, BestCountsWhatWasMeasuredAgainByItsLastMeasurement) {
  Measurement again = measured(130, 2), elsewhere = measured(200, 3);
  again.schedule = measured(100).schedule;
  elsewhere.schedule = measured(120).schedule;
  elsewhere.device.device_class = "another";
  insert(measured(100));
  insert(measured(120));
  insert(again);
  insert(elsewhere);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 120) << "another device says nothing of this one's";
  EXPECT_EQ(count({.problem = conv_problem()}), 4) << "all of them are kept";
}

// As of a clock that was two days ahead and was then set right.
TEST_P(StoreContract, ALaterMeasurementCountsThoughAnEarlierOneIsDatedInTheFuture) {
  constexpr int64_t kTomorrow = 2'000, kNow = 1'000;
  Measurement failed = measured(100, kNow);
  failed.outcome = Outcome::kCrashed;
  failed.samples.clear();
  insert(measured(100, kTomorrow));
  insert(measured(200, kTomorrow));
  insert(failed);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 200);
  Measurement again = measured(300, kNow);
  again.schedule = measured(200).schedule;
  insert(again);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 300);
  again.untuned = true;
  again.finished_unix_ns = kNow - 1;
  insert(again);
  Measurement default_of_before = measured(400, kTomorrow);
  default_of_before.untuned = true;
  ASSERT_TRUE(store_->insert(default_of_before, Origin::kImport).ok());
  BestQuery untuned{conv_problem()};
  untuned.of = BestQuery::Of::kUntuned;
  EXPECT_EQ(store_->top(untuned, 1)->front().median_ns(), 400) << "it was imported last";
}

TEST_P(StoreContract, AnImportedRecordCountsUntilTheProgramIsMeasuredHereAgain) {
  const auto import_crash = [&](int64_t time) {
    Measurement crash = measured(100, time);
    crash.outcome = Outcome::kCrashed;
    crash.samples.clear();
    EXPECT_TRUE(store_->insert(crash, Origin::kImport).ok());
  };
  insert(measured(100, 20));
  import_crash(10);
  EXPECT_TRUE(best({conv_problem()}).has_value()) << "it crashed before it was measured here";
  import_crash(30);
  EXPECT_FALSE(best({conv_problem()}).has_value()) << "it has crashed on this machine since";
  insert(measured(100, 5));
  EXPECT_TRUE(best({conv_problem()}).has_value()) << "it was measured again, by a clock that was set back";
  Measurement live = measured(100, 6);
  live.imported_after = 0;  // as of a row that was read from another database
  live.samples = {{1500, 10}};
  insert(live);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 150);
}

TEST_P(StoreContract, TakesNoMeasurementThatItCouldNotGiveBack) {
  const std::function<void(Measurement&)> faults[] = {
      [](Measurement& m) { m.samples[0].total_ns = -1; },
      [](Measurement& m) {
        m.samples.resize(100'001, {1, 1});
      },
      [](Measurement& m) { m.detail.resize((4 << 20) + 1); },
      [](Measurement& m) { m.device.fingerprint.resize((4 << 20) + 1); },
      [](Measurement& m) { m.device.governor.resize((4 << 20) + 1); },
      [](Measurement& m) { m.numerics = {std::string((4 << 20) + 1, 'x')}; },
      [](Measurement& m) { m.problem.in_layouts = {std::string((4 << 20) + 1, 'x')}; },
      [](Measurement& m) { m.lease = LeaseStamp{.slot = std::string((4 << 20) + 1, 'x')}; },
      [](Measurement& m) { m.lease = LeaseStamp{.lease_id = "l", .epoch = uint64_t{1} << 63}; },
      [](Measurement& m) { m.finished_unix_ns = -1; },
      [](Measurement& m) { m.problem.threads = 0; },
      [](Measurement& m) {
        m.interleaved = Interleaved{.began_unix_ns = 1, .ns = 2, .interval_ns = {3, 4}};
      },
  };
  for (const auto& fault : faults) {
    Measurement m = measured(100);
    fault(m);
    const absl::Status refused = store_->insert(m).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("a measurement was refused: it "));
    std::latch answered(1);
    store_->insert_async(m, Origin::kLive, [&](const absl::StatusOr<InsertResult>& result) {
      EXPECT_TRUE(absl::IsInvalidArgument(result.status()));
      answered.count_down();
    });
    answered.wait();
  }
  EXPECT_EQ(count({}), 0);
}

TEST_P(StoreContract, BestIsOfTheNetworksReuseDistanceOrElseOfTheNearest) {
  const auto at = [](uint64_t reuse_distance_bytes, int64_t ns) {
    Measurement m = measured(ns);
    m.problem.reuse_distance_bytes = reuse_distance_bytes;
    return m;
  };
  const auto best_at = [&](uint64_t reuse_distance_bytes) {
    return *best({at(reuse_distance_bytes, 0).problem})->median_ns();
  };
  insert(at(0, 100));
  EXPECT_EQ(best_at(8 << 20), 100) << "better than nothing";
  insert(at(4 << 20, 300));
  insert(at(16 << 20, 200));
  insert(at(16 << 20, 250));
  EXPECT_EQ(best_at(0), 100);
  EXPECT_EQ(best_at(4 << 20), 300);
  EXPECT_EQ(best_at(1 << 20), 300);
  EXPECT_EQ(best_at(8 << 20), 200) << "of two as near, the longer";
  EXPECT_EQ(count({.problem = at(16 << 20, 0).problem}), 2);
  EXPECT_EQ(store_->problems()->size(), 3u);
  EXPECT_EQ(store_->problems()->at(2).reuse_distance_bytes, 16u << 20);
}

TEST_P(StoreContract, OnlyOkIsEverBest) {
  insert(measured(1000));
  for (Outcome outcome :
       {Outcome::kStoppedEarly, Outcome::kCompileError, Outcome::kWrongOutput, Outcome::kImplausible,
        Outcome::kCrashed, Outcome::kTimedOut, Outcome::kOutOfMemory}) {
    Measurement m = measured(10 + static_cast<int64_t>(outcome));
    m.outcome = outcome;
    insert(m);
  }
  EXPECT_EQ(best({conv_problem()})->median_ns(), 1000);
}

TEST_P(StoreContract, BestAnswersOnlyTheSameProblem) {
  insert(measured(100));
  std::vector<tensor::KernelKey> others(6, conv_problem());
  others[0].binding = "N=2";
  others[1].in_layouts = {};
  others[2].out_layouts = {""};
  others[3].target = "x86_64:cpu=znver5";
  others[4].threads = 1;
  others[5].workload = {sha256("another")};
  for (const tensor::KernelKey& other : others) EXPECT_FALSE(best({other}).has_value());
}

TEST_P(StoreContract, RowMajorLayoutsAreTheSameHoweverWritten) {
  Measurement m = measured(100);
  m.problem.in_layouts = {"", ""};
  m.problem.out_layouts = {};
  insert(m);
  tensor::KernelKey asked = m.problem;
  asked.in_layouts = {};
  asked.out_layouts = {""};
  EXPECT_TRUE(best({asked}).has_value());
}

TEST_P(StoreContract, BestStaysWithinTheAllowedNumerics) {
  Measurement exact = measured(200), both = measured(100);
  both.numerics = {"bf16", "winograd"};
  insert(exact);
  insert(both);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 200);
  EXPECT_EQ(best({.problem = conv_problem(), .allowed_numerics = {"winograd"}})->median_ns(), 200);
  EXPECT_EQ(best({.problem = conv_problem(), .allowed_numerics = {"fp16", "winograd", "bf16"}})->median_ns(),
            100);
}

TEST_P(StoreContract, BestStaysWithinTheDeviceClassAndSemanticsAsked) {
  Measurement other_device = measured(100), older = measured(50);
  other_device.device.device_class = "phone";
  older.semantics_version = 2;
  insert(measured(200));
  insert(other_device);
  insert(older);
  EXPECT_EQ(best({.problem = conv_problem(), .semantics_version = 3})->median_ns(), 100);
  EXPECT_EQ(best({.problem = conv_problem(), .device_class = "desk", .semantics_version = 3})->median_ns(),
            200);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 50);
}

TEST_P(StoreContract, AMeasurementWithoutSamplesIsNeverBest) {
  Measurement m = measured(100);
  m.samples.clear();
  insert(m);
  EXPECT_FALSE(best({conv_problem()}).has_value());
}

TEST_P(StoreContract, ASecondInsertOfALeaseResultIsAcknowledgedAndChangesNothing) {
  Measurement m = measured(100);
  m.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 1, .sequence = 5};
  const InsertResult first = insert(m);
  m.samples = {{1, 1}};  // even a differing payload: the stamp decides
  const InsertResult again = insert(m);
  EXPECT_FALSE(first.duplicate);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(best({conv_problem()})->median_ns(), 100);
}

TEST_P(StoreContract, AnEqualRecordIsInsertedOnce) {
  EXPECT_FALSE(insert(measured(100, 1)).duplicate);
  EXPECT_TRUE(insert(measured(100, 1)).duplicate);
  EXPECT_FALSE(insert(measured(100, 2)).duplicate);  // measured again, later
  EXPECT_EQ(count({}), 2);
}

TEST_P(StoreContract, AResultOfAnOlderEpochIsFencedOff) {
  Measurement old = measured(100), current = measured(200), known = measured(300);
  known.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 4, .sequence = 1};
  current.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L2", .epoch = 5, .sequence = 1};
  old.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 4, .sequence = 2};
  insert(known);
  insert(current);
  absl::StatusOr<InsertResult> refused = store_->insert(old);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("epoch 4, but the slot is at epoch 5"));
  EXPECT_TRUE(insert(known).duplicate);  // durable before the fence rose
  old.lease->slot = "desk/1";
  EXPECT_FALSE(insert(old).duplicate);  // another slot has its own fence
}

TEST_P(StoreContract, AnImportNeitherPassesNorRaisesTheFence) {
  Measurement current = measured(100), imported = measured(200), newer = measured(300), live = measured(400);
  current.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L2", .epoch = 5, .sequence = 1};
  imported.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L1", .epoch = 4, .sequence = 1};
  newer.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L3", .epoch = 9, .sequence = 1};
  live.lease = LeaseStamp{.slot = "desk/0", .lease_id = "L2", .epoch = 5, .sequence = 2};
  insert(current);
  EXPECT_TRUE(store_->insert(imported, Origin::kImport).ok());
  EXPECT_TRUE(store_->insert(newer, Origin::kImport).ok());
  EXPECT_FALSE(insert(live).duplicate);
  imported.lease->sequence = 2;
  imported.finished_unix_ns++;
  EXPECT_EQ(store_->insert(imported).status().code(), absl::StatusCode::kAborted) << "live ones are fenced";
}

TEST_P(StoreContract, AMeasurementOfAnUnknownWorkloadIsRefused) {
  Measurement m = measured(100);
  m.problem.workload = {sha256("never added")};
  absl::StatusOr<InsertResult> refused = store_->insert(m);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("add the workload before"));
  EXPECT_EQ(count({}), 0);
}

TEST_P(StoreContract, AnAsynchronousInsertIsAnsweredOnceEach) {
  constexpr int kRows = 300;
  std::latch answered(kRows);
  std::atomic<int> good = 0;
  for (int i = 1; i <= kRows; ++i) {
    store_->insert_async(measured(i), Origin::kLive, [&](absl::StatusOr<InsertResult> result) {
      good += result.ok() && !result->duplicate;
      answered.count_down();
    });
  }
  answered.wait();
  EXPECT_EQ(good, kRows);
  EXPECT_EQ(count({}), kRows);
}

TEST_P(StoreContract, ScanFiltersAndKeepsTheOrderOfInsertion) {
  ASSERT_TRUE(store_->add_workload({.text = "softmax", .op = "softmax"}).ok());
  Measurement other = measured(1), failed = measured(2), in_job = measured(3);
  other.problem.workload = {sha256("softmax")};
  failed.outcome = Outcome::kTimedOut;
  in_job.job_id = 12;
  for (const Measurement& m : {other, failed, in_job}) insert(m);
  EXPECT_EQ(count({}), 3);
  EXPECT_EQ(count({.workload = conv_problem().workload}), 2);
  EXPECT_EQ(count({.problem = other.problem}), 1);
  EXPECT_EQ(count({.job_id = 12}), 1);
  EXPECT_EQ(*store_->count_trials(12), 1);
  EXPECT_EQ(count({.workload = conv_problem().workload, .which = Filter::Which::kOk}), 1);
  std::vector<std::string> order;
  ASSERT_TRUE(
      store_->scan({}, [&](const Measurement& m) { return order.push_back(m.schedule), absl::OkStatus(); })
          .ok());
  EXPECT_THAT(order, ElementsAre(other.schedule, failed.schedule, in_job.schedule));
  // Measuring a schedule again is no further trial.
  Measurement again = in_job;
  again.finished_unix_ns += 1;
  insert(again);
  EXPECT_EQ(count({.job_id = 12}), 2);
  EXPECT_EQ(*store_->count_trials(12), 1);
  // Nor is letting what another job tried meet others.
  Measurement met = other;
  met.job_id = 12;
  met.interleaved = Interleaved{.began_unix_ns = 5, .ns = 1, .interval_ns = {1, 1}};
  insert(met);
  EXPECT_EQ(count({.job_id = 12}), 3);
  EXPECT_EQ(*store_->count_trials(12), 1);
}

TEST_P(StoreContract, AScanVisitsMoreRowsThanOnePageAndItsVisitorMayAsk) {
  std::latch answered(700);
  for (int i = 1; i <= 700; ++i) {
    store_->insert_async(measured(i), Origin::kLive,
                         [&](const absl::StatusOr<InsertResult>&) { answered.count_down(); });
  }
  answered.wait();
  int64_t next = 1;
  ASSERT_TRUE(store_
                  ->scan({},
                         [&](const Measurement& m) {
                           EXPECT_EQ(m.median_ns(), next++);
                           return store_->is_measured(m.problem, m.schedule).status();
                         })
                  .ok());
  EXPECT_EQ(next, 701);
}

TEST_P(StoreContract, AScanOfAProblemOrAWorkloadGoesOnInOrderBeyondAPage) {
  Measurement other = measured(1);
  other.problem.binding = "N=2";
  ASSERT_TRUE(store_->add_workload({.text = "softmax", .op = "softmax"}).ok());
  Measurement elsewhere = measured(1);
  elsewhere.problem.workload = {sha256("softmax")};
  std::latch answered(1200);
  for (int i = 0; i < 400; ++i) {
    for (Measurement m : {measured(1), other, elsewhere}) {
      m.schedule = std::to_string(i * 7919 % 1009);
      store_->insert_async(m, Origin::kLive,
                           [&](const absl::StatusOr<InsertResult>&) { answered.count_down(); });
    }
  }
  answered.wait();
  const auto visits = [&](const Filter& filter) {
    int64_t last = 0, count = 0;
    const absl::Status scanned = store_->scan(filter, [&](const Measurement& m) {
      EXPECT_GT(m.id, std::exchange(last, m.id));
      return ++count, absl::OkStatus();
    });
    EXPECT_TRUE(scanned.ok()) << scanned;
    return count;
  };
  EXPECT_EQ(visits({.problem = other.problem}), 400);
  EXPECT_EQ(visits({.workload = conv_workload().key()}), 800);
  EXPECT_EQ(visits({.workload = elsewhere.problem.workload, .problem = other.problem}), 0);
  EXPECT_EQ(visits({.workload = conv_workload().key(), .job_id = 3}), 0);
}

TEST_P(StoreContract, AFailingVisitorEndsTheScanWithItsStatus) {
  insert(measured(1));
  insert(measured(2));
  int visits = 0;
  absl::Status status =
      store_->scan({}, [&](const Measurement&) { return ++visits, absl::AbortedError("enough"); });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(visits, 1);
}

TEST_P(StoreContract, KnowsWhatWasMeasuredAlready) {
  Measurement failed = measured(7);
  failed.outcome = Outcome::kCompileError;
  insert(failed);
  tensor::KernelKey elsewhere = failed.problem;
  elsewhere.threads = 8;
  EXPECT_TRUE(*store_->is_measured(failed.problem, failed.schedule));
  EXPECT_FALSE(*store_->is_measured(failed.problem, "another schedule"));
  EXPECT_FALSE(*store_->is_measured(elsewhere, failed.schedule));
}

TEST_P(StoreContract, FindsARecordByItsDigest) {
  insert(measured(100));
  insert(measured(200));
  absl::StatusOr<Measurement> found = store_->find_record(record_digest(measured(200)));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->median_ns(), 200);
  EXPECT_EQ(store_->find_record(sha256("nothing")).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreContract, FindsAWorkloadByAPrefixOfItsKey) {
  const std::string key = conv_workload().key().hex();
  EXPECT_EQ(store_->find_workload(key)->text, conv_workload().text);
  EXPECT_EQ(store_->find_workload(key.substr(0, 8))->op, conv_workload().op);
  EXPECT_EQ(store_->find_workload(std::string(64, '0')).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->find_workload("xyz").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(StoreContract, AWorkloadIsAddedOnce) {
  ASSERT_TRUE(store_->add_workload(conv_workload()).ok());
  EXPECT_EQ(store_->workloads()->size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreContract, every_kind_of_store(), name_of_kind);

}  // namespace
}  // namespace tf::database
