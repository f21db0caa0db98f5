#pragma once
// Owns: deriving a TrialResult's outcome from how the child ended: what counts as a crash, as out of memory,
// as wrong, as implausible. Pure: no processes, no clocks. Does not compare numbers (answers.h).

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

// Sets outcome, signal and detail if the child did not finish. If it finished, the outcome stays
// OUTCOME_UNSPECIFIED, and its answers and samples must be judged. RESOURCE_EXHAUSTED if the machine could
// not run it.
absl::Status judge_end(const ChildRun& run, const sandbox::Job& job, tunefarm::farm::v1::TrialResult* result);

// Compares the child's answers, of its checked run and of the run after the timed ones, with the expected
// answers. Sets max_error and, if they differ, OUTCOME_WRONG_OUTPUT and the first difference.
void judge_answers(const ChildRun& run, const LoadedArtifact& loaded, const Expected& expected,
                   tunefarm::farm::v1::TrialResult* result);

// Whether taking the samples took much longer than their sum: either the child lies, or other processes used
// its CPUs. A single trial cannot distinguish these. Always false for one thread, because the system's
// accounting distinguishes them.
bool was_held_up(const ChildRun& run, const sandbox::Job& job);

// Copies the samples. Compares the child's clock with the processor time that the system accounted or, for
// several threads, with this process's clock. Sets OUTCOME_IMPLAUSIBLE and the reason if they contradict each
// other.
void judge_samples(const ChildRun& run, const sandbox::Job& job, tunefarm::farm::v1::TrialResult* result);

// The highest plausible rate of a candidate, in FLOPs of its workload, if the FMAs of one thread reach
// `peak_gflops`.
double most_gflops(const LoadedArtifact& loaded, double peak_gflops);

// The time of the fastest run in ns; 0 without samples.
double best_run_ns(const tunefarm::farm::v1::TrialResult& result);

}  // namespace tf::worker
