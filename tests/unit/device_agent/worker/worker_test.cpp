#include "device_agent/worker/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"
#include "tests/unit/device_agent/worker/worker_support.h"

namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using tf::test::candidate;
using tf::test::serialized;
using tf::test::trial_of;
using tf::worker::anywhere;
using tf::worker::Worker;
using tf::worker::WorkerOptions;

class WorkerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = Worker::start(anywhere());
    ASSERT_TRUE(started.ok()) << started.status();
    worker_ = started->release();
  }
  static void TearDownTestSuite() { delete worker_; }

  static farm::TrialResult run(const std::string& entry,
                               const std::function<void(farm::Trial*)>& change = nullptr,
                               const std::function<void(kernel::Artifact*)>& change_artifact = nullptr,
                               tf::test::Extents extents = {}) {
    kernel::Artifact artifact = candidate(entry, extents);
    if (change_artifact) change_artifact(&artifact);
    const std::string bytes = serialized(artifact), reference = serialized(candidate("reference", extents));
    farm::Trial trial = trial_of(bytes, reference);
    if (change) change(&trial);
    auto result = worker_->run(trial, bytes, reference);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : farm::TrialResult();
  }
  // With so many constants, and so far from its next run, that flush buffers are read.
  static farm::TrialResult run_in_a_network(const std::string& entry, uint64_t memory_bytes = 256 << 20) {
    auto in_a_network = [&](farm::Trial* trial) {
      trial->mutable_options()->set_reuse_distance_bytes(64 << 20);
      trial->mutable_limits()->set_memory_bytes(memory_bytes);
    };
    return run(entry, in_a_network, nullptr, {.m = 17, .n = 64, .k = 128});
  }
  // With buffers that take some hundred milliseconds to make: large, and packed.
  static farm::TrialResult run_with_large_buffers(const std::string& entry, int64_t timeout_ns) {
    constexpr int64_t kDepth = 4 << 20;
    auto in_time = [&](farm::Trial* trial) {
      trial->clear_reference_digest();
      trial->mutable_options()->set_samples(1000);
      trial->mutable_limits()->set_run_timeout_ns(timeout_ns);
      trial->mutable_limits()->set_memory_bytes(1 << 30);
    };
    auto pack = [&](kernel::Artifact* artifact) {
      artifact->mutable_manifest()->mutable_ports(1)->set_layout("0,1,1:4");
      artifact->mutable_manifest()->set_flops(0);
    };
    return run(entry, in_time, pack, {.m = 1, .n = 4, .k = kDepth});
  }
  static void short_timeout(farm::Trial* trial) { trial->mutable_limits()->set_run_timeout_ns(200'000'000); }

  // Whatever a candidate did, the next one is measured.
  void TearDown() override { EXPECT_EQ(run("good").outcome(), farm::OUTCOME_OK); }

  static Worker* worker_;
};
Worker* WorkerTest::worker_ = nullptr;

TEST_F(WorkerTest, GoodCandidateIsOkWithEverySample) {
  const farm::TrialResult result = run("good");
  EXPECT_OUTCOME(result, OUTCOME_OK);
  ASSERT_EQ(result.samples_size(), 3);
  for (const farm::Sample& sample : result.samples()) {
    EXPECT_GE(sample.total_ns(), 1'000'000);
    EXPECT_GT(sample.iterations(), 1u);
  }
  EXPECT_EQ(result.cache_mode(), farm::CACHE_MODE_ROTATE);
  EXPECT_LT(result.max_error(), 1e-6);
  EXPECT_GT(result.max_error(), 0) << "float against double must differ a little: was anything compared?";
  EXPECT_EQ(result.artifact_digest().size(), 64u);
  EXPECT_EQ(result.device().fingerprint().size(), 64u);
  EXPECT_NE(result.device().model(), "");
}

TEST_F(WorkerTest, GoodCandidateIsOkWithThreadsWarmCachesAndWithoutReference) {
  EXPECT_OUTCOME(run("good", [](farm::Trial* trial) { trial->set_threads(3); }), OUTCOME_OK);
  EXPECT_OUTCOME(run("uses_workspace", [](farm::Trial* trial) { trial->set_threads(2); }), OUTCOME_OK);
  EXPECT_OUTCOME(
      run("good",
          [](farm::Trial* trial) { trial->mutable_options()->set_cache_mode(farm::CACHE_MODE_WARM); }),
      OUTCOME_OK);
  EXPECT_OUTCOME(run("wrong", [](farm::Trial* trial) { trial->clear_reference_digest(); }), OUTCOME_OK);
}

TEST_F(WorkerTest, AnswersAreCheckedAsWellWhereConstantsComeFromANetwork) {
  const farm::TrialResult good = run_in_a_network("good");
  EXPECT_OUTCOME(good, OUTCOME_OK);
  EXPECT_EQ(good.reuse_distance_bytes(), 64u << 20);
  for (const char* entry : {"works_once", "works_twice"}) {
    const farm::TrialResult later = run_in_a_network(entry);
    EXPECT_OUTCOME(later, OUTCOME_WRONG_OUTPUT) << entry;
    EXPECT_THAT(later.detail(), testing::HasSubstr("after the timed runs")) << entry;
  }
}

TEST_F(WorkerTest, WhatStandsInForANetworkIsNotTheCandidatesMemory) {
  constexpr uint64_t kLittle = 48 << 20;
  EXPECT_OUTCOME(run_in_a_network("good", kLittle), OUTCOME_OK);
  EXPECT_OUTCOME(run_in_a_network("segfaults", kLittle), OUTCOME_CRASHED);
  EXPECT_OUTCOME(run_in_a_network("allocates_without_end", kLittle), OUTCOME_OUT_OF_MEMORY);
}

TEST_F(WorkerTest, InputsAreTheSameInEveryLayout) {
  auto pack = [](kernel::Artifact* artifact) {
    kernel::Port* w = artifact->mutable_manifest()->mutable_ports(1);
    w->set_layout("0,1,1:4");
    w->set_size_bytes(13 * 32 * 4);
  };
  EXPECT_OUTCOME(run("good_packed", nullptr, pack), OUTCOME_OK);
  EXPECT_OUTCOME(run("good", nullptr, pack), OUTCOME_WRONG_OUTPUT);
}

TEST_F(WorkerTest, WrongAnswerSaysWhereAndHowWrong) {
  const farm::TrialResult result = run("wrong");
  EXPECT_OUTCOME(result, OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(result.detail(), testing::HasSubstr("output 'y'[0,3] is "));
  EXPECT_THAT(result.detail(), testing::HasSubstr("1 of 527 elements are wrong"));
  EXPECT_GT(result.max_error(), 1e-3);
}

TEST_F(WorkerTest, NoAnswerIsAWrongAnswer) {
  EXPECT_OUTCOME(run("writes_nothing"), OUTCOME_WRONG_OUTPUT);
  const farm::TrialResult error = run("returns_an_error");
  EXPECT_OUTCOME(error, OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(error.detail(), testing::HasSubstr("returned error 2"));
}

TEST_F(WorkerTest, AnAnswerThatTheTimedRunsDoNotGiveIsWrong) {
  const farm::TrialResult result = run("works_once");
  EXPECT_OUTCOME(result, OUTCOME_WRONG_OUTPUT);
  EXPECT_THAT(result.detail(), testing::HasSubstr("after the timed runs"));
}

TEST_F(WorkerTest, WritingElsewhereIsFound) {
  EXPECT_OUTCOME(run("changes_its_input"), OUTCOME_WRONG_OUTPUT);
  EXPECT_OUTCOME(run("writes_a_bit_too_far"), OUTCOME_WRONG_OUTPUT);
  const farm::TrialResult far = run("writes_far_too_far");
  EXPECT_OUTCOME(far, OUTCOME_CRASHED);
  EXPECT_EQ(far.signal(), SIGSEGV);
}

TEST_F(WorkerTest, CrashesCarryTheirSignal) {
  for (const auto& [entry, signal] :
       {std::pair{"segfaults", SIGSEGV}, std::pair{"aborts", SIGABRT}, std::pair{"divides_by_zero", SIGFPE},
        std::pair{"recurses_without_end", SIGSEGV}}) {
    const farm::TrialResult result = run(entry);
    EXPECT_OUTCOME(result, OUTCOME_CRASHED) << entry;
    EXPECT_EQ(result.signal(), signal) << entry;
  }
}

TEST_F(WorkerTest, EndingTheProcessIsACrashWithoutSignal) {
  const farm::TrialResult result = run("exits");
  EXPECT_OUTCOME(result, OUTCOME_CRASHED);
  EXPECT_EQ(result.signal(), 0);
  EXPECT_THAT(result.detail(), testing::HasSubstr("status 3"));
}

TEST_F(WorkerTest, SpinningAndSleepingTimeOut) {
  for (const char* entry : {"spins", "sleeps"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_OUTCOME(run(entry, short_timeout), OUTCOME_TIMED_OUT);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3)) << entry;
  }
}

// It is sampled for as long as it may: whatever its buffers took of that it would lack in the end.
TEST_F(WorkerTest, MakingItsBuffersCostsACandidateNoneOfItsTime) {
  const farm::TrialResult result = run_with_large_buffers("takes_20_ms", 2'000'000'000);
  EXPECT_OUTCOME(result, OUTCOME_OK);
  EXPECT_GT(result.samples_size(), 10);
  EXPECT_LT(result.samples_size(), 1000);
}

TEST_F(WorkerTest, MakingBuffersHasALimit) {
  const farm::TrialResult result = run_with_large_buffers("good", 5'000'000);
  EXPECT_OUTCOME(result, OUTCOME_TIMED_OUT);
  EXPECT_EQ(result.detail(), "it was not ready to run within 5 ms");
}

TEST_F(WorkerTest, AllocatingWithoutEndIsOutOfMemory) {
  EXPECT_OUTCOME(run("allocates_without_end"), OUTCOME_OUT_OF_MEMORY);
}

TEST_F(WorkerTest, BuffersBeyondTheLimitAreOutOfMemory) {
  const farm::TrialResult result = run(
      "good", [](farm::Trial* trial) { trial->clear_reference_digest(); },
      [](kernel::Artifact* artifact) {
        kernel::Port* x = artifact->mutable_manifest()->mutable_ports(0);
        x->set_extents(0, 1 << 20);
        x->set_extents(1, 1 << 10);
        x->set_size_bytes(uint64_t{4} << 30);
      });
  EXPECT_OUTCOME(result, OUTCOME_OUT_OF_MEMORY);
  EXPECT_THAT(result.detail(), testing::HasSubstr("the limit is 256 MiB"));
}

TEST_F(WorkerTest, AFloodOfOutputIsCutAndDoesNoHarm) {
  const farm::TrialResult result =
      run("floods", [](farm::Trial* trial) { trial->mutable_options()->set_min_sample_ns(0); });
  EXPECT_OUTCOME(result, OUTCOME_OK);
  EXPECT_EQ(result.printed().size(), 2000u);
  EXPECT_THAT(result.printed(), testing::StartsWith("line 0 of a flood\nline 1 of a flood\n"));
}

TEST_F(WorkerTest, TheSandboxLetsNothingOut) {
  EXPECT_OUTCOME(run("reaches_out"), OUTCOME_OK);
  struct stat file;
  EXPECT_NE(stat("/tmp/tf_candidate_was_here", &file), 0);
}

TEST_F(WorkerTest, FalseTimingMarksAreNotBelieved) {
  const farm::TrialResult result = run("scribbles_on_descriptors");
  EXPECT_THAT(result.outcome(), testing::AnyOf(farm::OUTCOME_OK, farm::OUTCOME_IMPLAUSIBLE));
}

TEST_F(WorkerTest, FasterThanTheMachineIsImplausible) {
  const farm::TrialResult result =
      run("good", nullptr, [](kernel::Artifact* artifact) { artifact->mutable_manifest()->set_flops(1e12); });
  EXPECT_OUTCOME(result, OUTCOME_IMPLAUSIBLE);
  EXPECT_THAT(result.detail(), testing::HasSubstr("GFLOP/s"));
}

TEST_F(WorkerTest, AClearlySlowerCandidateStopsEarly) {
  const farm::TrialResult result = run("good", [](farm::Trial* trial) {
    trial->mutable_options()->set_samples(50);
    trial->mutable_options()->set_stop_if_slower_than_ns(1);
  });
  EXPECT_OUTCOME(result, OUTCOME_STOPPED_EARLY);
  EXPECT_EQ(result.samples_size(), 1);
}

TEST_F(WorkerTest, WhatCannotBeLoadedIsACompileError) {
  EXPECT_OUTCOME(run("no_such_entry"), OUTCOME_COMPILE_ERROR);
  EXPECT_OUTCOME(run("good", nullptr,
                     [](kernel::Artifact* artifact) { artifact->mutable_blobs(0)->set_content("no ELF"); }),
                 OUTCOME_COMPILE_ERROR);
}

TEST_F(WorkerTest, ReferenceAnswersAreKeptBySeed) {
  const std::string good = serialized(candidate("good")), reference = serialized(candidate("reference"));
  farm::Trial trial = trial_of(good, reference);
  trial.set_input_seed(991);
  EXPECT_FALSE(worker_->has_reference(trial.reference_digest(), 991));
  EXPECT_EQ(worker_->run(trial, good, "").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(worker_->run(trial, good, reference).ok());
  EXPECT_TRUE(worker_->has_reference(trial.reference_digest(), 991));
  EXPECT_TRUE(worker_->run(trial, good, "").ok());
  EXPECT_FALSE(worker_->has_reference(trial.reference_digest(), 992));
}

TEST_F(WorkerTest, NonsenseIsRefusedBeforeItRuns) {
  const std::string good = serialized(candidate("good")), reference = serialized(candidate("reference"));
  const auto status_of = [&](const std::function<void(farm::Trial*)>& change) {
    farm::Trial trial = trial_of(good, reference);
    change(&trial);
    return worker_->run(trial, good, reference).status();
  };
  EXPECT_THAT(status_of([](farm::Trial* t) { t->set_artifact_digest(std::string(64, '0')); }).ToString(),
              testing::HasSubstr("is damaged"));
  EXPECT_THAT(status_of([](farm::Trial* t) { t->set_threads(0); }).ToString(), testing::HasSubstr("threads"));
  EXPECT_THAT(status_of([](farm::Trial* t) { t->mutable_options()->set_samples(0); }).ToString(),
              testing::HasSubstr("samples"));
  EXPECT_THAT(status_of([](farm::Trial* t) { t->mutable_limits()->clear_run_timeout_ns(); }).ToString(),
              testing::HasSubstr("run timeout"));
  EXPECT_THAT(status_of([](farm::Trial* t) { t->mutable_options()->clear_cache_mode(); }).ToString(),
              testing::HasSubstr("cache mode"));
}

TEST_F(WorkerTest, ADeviceThatDoesNotExistIsRefused) {
  WorkerOptions options = anywhere();
  options.device = "abacus";
  auto worker = Worker::start(std::move(options));
  ASSERT_TRUE(worker.ok()) << worker.status();
  const std::string bytes = serialized(candidate("good")), reference = serialized(candidate("reference"));
  const auto result = (*worker)->run(trial_of(bytes, reference), bytes, reference);
  EXPECT_THAT(result.status().ToString(), testing::HasSubstr("this worker has no device 'abacus'"));
}

TEST_F(WorkerTest, MalformedArtifactsAreRefusedWithTheReason) {
  const auto status_of = [&](const std::function<void(kernel::Artifact*)>& change) {
    kernel::Artifact artifact = candidate("good");
    change(&artifact);
    const std::string bytes = serialized(artifact), reference = serialized(candidate("reference"));
    return worker_->run(trial_of(bytes, reference), bytes, reference).status().ToString();
  };
  auto port = [](kernel::Artifact* a, int i) { return a->mutable_manifest()->mutable_ports(i); };
  EXPECT_THAT(status_of([](auto* a) { a->mutable_manifest()->set_abi_version(9); }),
              testing::HasSubstr("kernel ABI 9"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 0)->set_layout("0,0"); }), testing::HasSubstr("layout '0,0'"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 0)->set_size_bytes(3); }),
              testing::HasSubstr("states 3 bytes"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 1)->clear_role(); }),
              testing::HasSubstr("does not have a role"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 1)->clear_element(); }), testing::HasSubstr("element type"));
  EXPECT_THAT(status_of([](auto* a) { a->mutable_manifest()->clear_launches(); }),
              testing::HasSubstr("0 launches"));
  EXPECT_THAT(status_of([](auto* a) { a->mutable_blobs(0)->set_kind(kernel::BLOB_KIND_CUBIN); }),
              testing::AllOf(testing::HasSubstr("INVALID_ARGUMENT"),
                             testing::HasSubstr("device 'cpu' does not load blobs of kind 3")));
  auto launch = [](kernel::Artifact* a) { return a->mutable_manifest()->mutable_launches(0); };
  EXPECT_THAT(status_of([&](auto* a) { launch(a)->add_grid("4"); }),
              testing::HasSubstr("whose grid is not three numbers"));
  EXPECT_THAT(status_of([&](auto* a) {
                for (const char* extent : {"4", "n", "1"}) launch(a)->add_block(extent);
              }),
              testing::HasSubstr("whose block is not three numbers"));
  EXPECT_THAT(status_of([&](auto* a) { launch(a)->add_tensor_maps()->add_extents(4); }),
              testing::HasSubstr("a tensor map of 1 axes with a box of 0"));
  EXPECT_THAT(status_of([&](auto* a) {
                for (int i = 0; i < 5; ++i) launch(a)->add_tensor_maps();
              }),
              testing::HasSubstr("a launch with 5 tensor maps"));
  EXPECT_THAT(status_of([&](auto* a) { launch(a)->set_shared_bytes("-1"); }),
              testing::HasSubstr("shared memory of '-1' bytes"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 1)->add_maps()->set_rows(3); }),
              testing::HasSubstr("matrix does not fit"));
  EXPECT_THAT(status_of([&](auto* a) {  // 2^64 elements, none in the matrix
                port(a, 1)->set_extents(0, int64_t{1} << 58);
                port(a, 1)->add_maps()->set_rows(64);
              }),
              testing::HasSubstr("matrix does not fit"));
  EXPECT_THAT(status_of([&](auto* a) {  // a map that makes 32 GiB of 2 TiB
                port(a, 1)->set_extents(0, int64_t{1} << 33);
                port(a, 1)->set_extents(1, 64);
                kernel::AxisMap& sum = *port(a, 1)->add_maps();
                sum.set_axis(1);
                sum.set_rows(1);
                for (int i = 0; i < 64; ++i) sum.add_matrix(1);
                port(a, 1)->set_size_bytes(uint64_t{1} << 35);
              }),
              testing::HasSubstr("more than 64 GiB on its way"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 0)->add_maps()->set_rows(1); }),
              testing::HasSubstr("f32 constants"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 1)->mutable_sums()->add_axes(0); }),
              testing::HasSubstr("not a row-major i32 constant"));
  EXPECT_THAT(status_of([&](auto* a) {
                port(a, 1)->set_element(kernel::ELEMENT_TYPE_INT32);
                port(a, 1)->mutable_sums()->add_axes(5);
              }),
              testing::HasSubstr("sums an axis that does not exist"));
  EXPECT_THAT(status_of([&](auto* a) {
                port(a, 1)->set_element(kernel::ELEMENT_TYPE_INT32);
                port(a, 1)->mutable_sums()->add_axes(0);
              }),
              testing::HasSubstr("not a valid sum of a constant of bytes"));
  EXPECT_THAT(status_of([&](auto* a) { port(a, 0)->mutable_domain()->set_high(5); }),
              testing::HasSubstr("not the same computation"));
}

TEST_F(WorkerTest, OfAnArtifactsTextsIsToldWhatALineHolds) {
  const std::string text(100'000, 'x');
  const auto told_of = [&](const std::function<void(kernel::Artifact*)>& change) {
    kernel::Artifact artifact = candidate("good");
    change(&artifact);
    const std::string bytes = serialized(artifact), reference = serialized(candidate("reference"));
    const absl::Status status = worker_->run(trial_of(bytes, reference), bytes, reference).status();
    EXPECT_FALSE(status.ok());
    return status.message().size();
  };
  auto port = [](kernel::Artifact* a, int i) { return a->mutable_manifest()->mutable_ports(i); };
  EXPECT_LT(told_of([&](auto* a) { port(a, 0)->set_layout(text); }), 1000u);
  EXPECT_LT(told_of([&](auto* a) { a->mutable_manifest()->mutable_launches(0)->set_entry(text); }), 1000u);
  EXPECT_LT(told_of([&](auto* a) {
              port(a, 1)->set_name(text);
              port(a, 1)->clear_role();
            }),
            1000u);
  const farm::TrialResult wrong = run("wrong", nullptr, [&](kernel::Artifact* a) {
    for (kernel::Port& each : *a->mutable_manifest()->mutable_ports()) each.set_name(text);
  });
  EXPECT_OUTCOME(wrong, OUTCOME_WRONG_OUTPUT);
  EXPECT_LT(wrong.detail().size(), 1000u);
}

TEST_F(WorkerTest, AReferenceThatGivesNoAnswerIsNoReasonToBlameTheCandidate) {
  const std::string good = serialized(candidate("good"));
  for (const char* entry :
       {"reference_that_writes_nothing", "reference_missing", "reference_with_an_infinite_magnitude"}) {
    const std::string reference = serialized(candidate(entry));
    EXPECT_EQ(worker_->run(trial_of(good, reference), good, reference).status().code(),
              absl::StatusCode::kFailedPrecondition)
        << entry;
  }
}

TEST_F(WorkerTest, PeakIsMeasuredInAChild) {
  const auto peak = worker_->peak_gflops();
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_GT(*peak, 0.5);
}

}  // namespace
