#pragma once
// Owns: a session over fakes: a builder and a device that answer at once, two small tasks, a store in memory.
// Does not know: what is tested with it.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "database/memory_store.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/session/session.h"

namespace tf::session {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

// Makes an "artifact" that carries its schedule and its workload, so that the fake device can tell candidates apart.
class FakeBuilder final : public driver::Builder {
 public:
  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    kernel::BuildReply reply;
    const std::string& schedule = request.kernel().schedule();
    if (refuse_every > 0 && ++builds_ % refuse_every == 0 && !request.kernel().reference()) {
      reply.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
      reply.set_message("refused by the test");
      return reply;
    }
    if (request.kernel().reference() && request.kernel().workload() == hopeless_reference) {
      reply.set_code(static_cast<int>(absl::StatusCode::kUnimplemented));
      reply.set_message("no code for this one");
      return reply;
    }
    if (request.kernel().reference() && late_references-- > 0) {
      reply.set_code(static_cast<int>(absl::StatusCode::kDeadlineExceeded));
      reply.set_message("the build worker took too long");
      return reply;
    }
    reply.mutable_artifact()->mutable_manifest()->set_computation(request.kernel().reference() ? "reference"
                                                                                               : schedule);
    reply.mutable_artifact()->add_blobs()->set_content(request.kernel().workload());
    if (same_code) reply.set_code_digest(is_own_code(request.kernel()) ? "its own" : "the one");
    if (tells_code) reply.set_code_digest(sha256(schedule).hex());
    return reply;
  }
  int slots() const override { return 2; }
  void cancel() override {}
  int refuse_every = 0;
  bool same_code = false, tells_code = false;
  bool first_has_own_code = false;  // of each workload, where the others' is the same
  std::string hopeless_reference;   // canonical text of a workload
  std::atomic<int> late_references{0};

 private:
  bool is_own_code(const kernel::BuildKernelRequest& request) {
    if (!first_has_own_code || request.reference()) return false;
    std::lock_guard lock(mutex_);
    return firsts_.try_emplace(request.workload(), request.schedule()).first->second == request.schedule();
  }

  std::mutex mutex_;
  std::map<std::string, std::string> firsts_;  // schedules, by workload
  std::atomic<int> builds_{0};
};

class FakeRunner final : public measure::Runner {
 public:
  absl::StatusOr<farm::TrialResult> run(const measure::MeasureRequest& request) override {
    if (delay) std::this_thread::sleep_for(delay());
    std::lock_guard lock(mutex_);
    if (++runs == stop_after) *stop = true;
    if ((lose_every > 0 && runs % lose_every == 0) || (lose_from > 0 && runs >= lose_from))
      return absl::UnavailableError("the agent went away");
    if (!fatal.ok()) return fatal;
    if (cancels) return absl::CancelledError("the job's time is up");
    const bool is_warm = request.trial->options().cache_mode() == farm::CACHE_MODE_WARM;
    if (is_warm && refuses_warm) return absl::InvalidArgumentError("not warm");
    EXPECT_TRUE(is_warm || !request.reference.digest.empty()) << "an answer must be checked";
    const kernel::Artifact candidate = parsed(request.candidate);
    workloads.push_back(candidate.blobs(0).content());
    const int runs_before = measured[request.candidate.digest]++;
    if (const int64_t incumbent_ns = request.trial->options().stop_if_slower_than_ns(); incumbent_ns > 0) {
      raced.insert(request.candidate.digest);
      incumbents_ns.insert(incumbent_ns);
    }
    reuse_distances.insert(request.trial->options().reuse_distance_bytes());
    samplings.emplace(request.trial->options().samples(), request.trial->options().min_sample_ns());
    farm::TrialResult result;
    result.set_artifact_digest(request.candidate.digest);
    result.set_cache_mode(request.trial->options().cache_mode());
    result.mutable_device()->set_fingerprint(names_other ? "another" : fingerprint);
    if (knows_reuse_distance)
      result.set_reuse_distance_bytes(request.trial->options().reuse_distance_bytes());
    if (stale_every > 0) {
      // Every so often a result of a lease that the slot has moved on from.
      const bool stale = runs % stale_every == 0;
      result.set_slot("desk/0");
      result.set_lease_id(stale ? "old" : "new");
      result.set_epoch(stale ? 1 : 2);
      result.set_sequence(static_cast<uint64_t>(runs));
    }
    const bool is_again = runs_before > 0 && throttle_again_every > 0;
    const bool throttles = throttle_every == 1 ||
                           (throttle_every > 0 && runs % throttle_every == 0 && runs_before == 0) ||
                           (is_again && (runs_before + 1) % throttle_again_every == 0);
    result.mutable_device()->set_throttled(throttles);
    const bool fails = (fail_every > 0 && runs % fail_every == 0) ||
                       (runs_before > 0 && request.candidate.digest == wrong_again);
    result.set_outcome(fails ? farm::OUTCOME_CRASHED : farm::OUTCOME_OK);
    if (result.outcome() == farm::OUTCOME_OK) {
      const int64_t ns =
          is_absurd                ? -1
          : is_warm && warm_ns > 0 ? warm_ns
          : ns_of                  ? ns_of(candidate.manifest().computation())
                  : time_of(request.candidate.digest, runs_before) + (throttles ? throttled_ns : 0);
      for (const int64_t sample_ns : samples_of ? samples_of(ns) : std::vector{ns}) {
        farm::Sample& sample = *result.add_samples();
        sample.set_iterations(1);
        sample.set_total_ns(sample_ns);
      }
    }
    return result;
  }
  // What a candidate takes when it was measured so often before.
  int64_t time_of(const std::string& digest, int runs_before) const {
    const auto ns = static_cast<double>(100'000 + spread_ns * (digest[0] & 15));
    return std::llround(ns * (1 + drift_per_run * runs_before)) +
           (is_lucky_first && runs_before == 0 ? 0 : unlucky_ns);
  }
  void acknowledge(const farm::TrialResult&) override { ++acknowledged; }
  int slots() const override { return devices; }
  absl::StatusOr<farm::DeviceState> device() override {
    farm::DeviceState state;
    state.set_fingerprint(fingerprint);
    return state;
  }
  void cancel() override {}

  int devices = 1;
  std::string fingerprint;
  bool names_other = false;  // in results
  bool cancels = false;
  bool refuses_warm = false;                                  // as a device that only rotates
  std::function<std::chrono::microseconds()> delay;           // of each run; empty: none
  std::function<int64_t(const std::string& schedule)> ns_of;  // instead of time_of()
  // Of a trial of a candidate that takes so long; empty: one sample of just that.
  std::function<std::vector<int64_t>(int64_t ns)> samples_of;
  int64_t warm_ns = 0;  // of warm trials, instead of either; 0: as others
  int stop_after = 0;   // runs; 0: never
  std::atomic<bool>* stop = nullptr;
  bool is_lucky_first = false;  // only the first measurement of a candidate is without unlucky_ns
  int64_t spread_ns = 1000, unlucky_ns = 0;
  double drift_per_run = 0;  // how much longer a candidate takes each time that it is measured
  bool is_absurd = false;    // times are negative
  std::string wrong_again;   // the candidate that crashes when it is measured again
  int runs = 0, lose_every = 0, fail_every = 0, stale_every = 0, throttle_every = 0;
  int lose_from = 0;             // the first run of many that is lost; 0: none
  int throttle_again_every = 0;  // of the times that a candidate is measured, but for the first
  int64_t throttled_ns = 0;      // how much longer a candidate takes then
  std::atomic<int> acknowledged{0};
  absl::Status fatal;
  std::vector<std::string> workloads;   // canonical texts, of each run
  std::map<std::string, int> measured;  // how often, by digest
  std::set<std::string> raced;          // against an incumbent
  std::set<int64_t> incumbents_ns;
  std::set<uint64_t> reuse_distances;
  std::set<std::pair<uint32_t, int64_t>> samplings;  // how many samples, each of how many ns at least
  bool knows_reuse_distance = true;

 private:
  static kernel::Artifact parsed(const measure::ArtifactBytes& artifact) {
    kernel::Artifact parsed;
    EXPECT_TRUE(parsed.ParseFromString(*artifact.bytes));
    return parsed;
  }

  std::mutex mutex_;
};

class TuneTest : public testing::Test {
 protected:
  TuneTest() {
    options_.target = target::parse_target("x86_64:cpu=znver4").value();
    options_.budget.trials = 24;
    options_.retry_delay = absl::Milliseconds(5);
    options_.finals = options_.calibration = false;  // where nothing else is said
    database::Job job;
    job.model_name = "test";
    options_.job_id = store_->add_job(job).value();
    for (int64_t size : {32, 48})
      tasks_.push_back(
          {.label = "product", .kernel = {.workload = test::matmul_bias_relu(size, size, size)}});
  }

  absl::StatusOr<Progress> run() {
    return tune(tasks_, options_, builder_, runner_, *store_, stop_, [](const Progress&) {});
  }

  std::vector<database::Measurement> records() {
    std::vector<database::Measurement> all;
    EXPECT_TRUE(store_
                    ->scan({},
                           [&](const database::Measurement& m) {
                             all.push_back(m);
                             return absl::OkStatus();
                           })
                    .ok());
    return all;
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  FakeBuilder builder_;
  FakeRunner runner_;
  SessionOptions options_;
  std::vector<Task> tasks_;
  std::atomic<bool> stop_{false};
};

}  // namespace tf::session
