#pragma once
// Owns: from how a child ended to a TrialResult's outcome: the policy of what counts as a crash, as running
// out of memory, as wrong, as implausible. Pure: no processes, no clocks. Does not compare numbers
// (answers.h).

#include <cstdint>

#include "absl/status/status.h"
#include "device_agent/worker/answers.h"
#include "device_agent/worker/job_wire.h"
#include "device_agent/worker/sandbox/job.h"
#include "device_agent/worker/zygote_client.h"

namespace tunefarm::farm::v1 {
class TrialResult;
}

namespace tf::worker {

// Sets outcome, signal and detail if the child did not get to its end; leaves the outcome OUTCOME_UNSPECIFIED
// if it did, and there are answers and samples to look at. RESOURCE_EXHAUSTED if the machine could not run
// it.
absl::Status judge_end(const ChildRun& run, const sandbox::Job& job, tunefarm::farm::v1::TrialResult* result);

// Compares what the child computed, in its checked run and after its timed ones, with the right answers. Sets
// max_error and, where they differ, OUTCOME_WRONG_OUTPUT and the first difference.
void judge_answers(const ChildRun& run, const LoadedArtifact& loaded, const Expected& expected,
                   tunefarm::farm::v1::TrialResult* result);

// Whether taking its samples took so much longer than they add up to that either it lies or others had its
// processors: once, nobody can tell. Never of one thread, for which the system's account tells.
bool was_held_up(const ChildRun& run, const sandbox::Job& job);

// Copies the samples and compares the child's clock with the system's account of how long it worked, or, of
// several threads, with ours. Sets OUTCOME_IMPLAUSIBLE and why, or nothing.
void judge_samples(const ChildRun& run, const sandbox::Job& job, tunefarm::farm::v1::TrialResult* result);

// The highest rate that a candidate is believed, in FLOPs of its workload, where one thread's FMAs reach
// `peak_gflops`.
double most_gflops(const LoadedArtifact& loaded, double peak_gflops);

// Time of the fastest run in ns; 0 without samples.
double best_run_ns(const tunefarm::farm::v1::TrialResult& result);

}  // namespace tf::worker
