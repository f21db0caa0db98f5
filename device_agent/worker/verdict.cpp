#include "device_agent/worker/verdict.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "device_agent/worker/sandbox/grace_period.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

namespace farm = tunefarm::farm::v1;
using sandbox::ChildEnd;

// What the parent sees between the marks around the samples may exceed what the samples add up to: by the
// work between samples, by batches that are left out, and by how late a loaded machine wakes us. Beyond this
// the child's clock is not believed, unless the system's account of its work vouches for it: a child that got
// no processor, or a parent that was woken late, is the machine's doing.
constexpr double kUnaccountedFactor = 2;
constexpr int64_t kUnaccountedNs = 200'000'000 + sandbox::kGracePeriodNs;

// A loaded machine does not make a child work longer, so the system's account bounds one thread tighter: what
// it worked since it loaded the candidate is the checked run and the warm-up (each a few times as long as
// later runs at most), the samples, the last run, and what the grace period leaves out. A candidate that
// hides work from the child's clock has to hide it in what is left: 30 ms and the grace period.
constexpr int64_t kHiddenNs = 30'000'000 + sandbox::kGracePeriodNs;
constexpr double kColdRuns = 8;   // checked run, warm-up and the last run, in timed runs
constexpr double kNsPerByte = 3;  // buffers' first touch, comparing inputs, keeping answers

// A candidate may be this much faster than the FMA rate that we saw: clocks boost, and our loop is not
// perfect.
constexpr double kPeakMargin = 1.15;
// Additions, minima and maxima have pipes of their own beside those of FMAs: a Zen starts two FMAs and two
// additions a cycle, which are 6 FLOPs, and our loop has 4. A kernel of few FMAs an element needs them: 9 of
// a depthwise convolution with the bias and the clip after it are 21 FLOPs, not 18.
constexpr double kBesideFmas = 1.5;
// Winograd needs fewer FLOPs than the workload counts, small types do more of them a cycle.
constexpr double kReducedNumericsFactor = 16;

void set(farm::TrialResult* result, farm::Outcome outcome, std::string detail) {
  result->set_outcome(outcome);
  result->set_detail(std::move(detail));
}

// The child shares the memory that this lies in: it may have written anything there.
std::string detail_of(const sandbox::Result& result) {
  return printable({result.detail, strnlen(result.detail, sizeof result.detail)});
}

// The candidate took most of what it may have before it died: a failed allocation is what killed it.
bool ran_out_of_memory(const ChildRun& run, const sandbox::Job& job) {
  const sandbox::Result& result = run.result;
  if (result.fault_address_bytes > result.start_address_bytes && result.start_address_bytes > 0 &&
      result.limit_address_bytes > result.start_address_bytes) {
    const uint64_t room = result.limit_address_bytes - result.start_address_bytes;
    if (result.fault_address_bytes - result.start_address_bytes > room / 2) return true;
  }
  return static_cast<uint64_t>(run.reply.max_resident_bytes) > job.memory_bytes / 4 * 3;
}

std::string memory_detail(const sandbox::Job& job) {
  return absl::StrCat("out of memory; the limit is ", job.memory_bytes >> 20, " MiB");
}

void judge_signal(const ChildRun& run, const sandbox::Job& job, farm::TrialResult* result) {
  const int signal_number = WTERMSIG(run.reply.wait_status);
  if (signal_number == SIGXCPU) {
    return set(result, farm::OUTCOME_TIMED_OUT, "it used up its CPU time");
  }
  if (ran_out_of_memory(run, job)) return set(result, farm::OUTCOME_OUT_OF_MEMORY, memory_detail(job));
  result->set_signal(signal_number);
  set(result, farm::OUTCOME_CRASHED,
      absl::StrCat("killed by signal ", signal_number, " (", strsignal(signal_number), ")"));
}

// What the samples add up to; 0 without samples, or if they are no times.
int64_t sampled_ns(const ChildRun& run) {
  const uint32_t count = std::min(run.result.sample_count, sandbox::kMaxSamples);
  int64_t total_ns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const sandbox::SampleResult& sample = run.result.samples[i];
    if (sample.total_ns <= 0 || sample.iterations == 0 ||
        __builtin_add_overflow(total_ns, sample.total_ns, &total_ns))
      return 0;
  }
  return total_ns;
}

// Whether the system's account tells what the samples leave out. Not with several threads, which wait for
// each other actively.
bool is_accounted(const ChildRun& run, const sandbox::Job& job) {
  return job.threads == 1 && run.cpu_before_loading_ns.has_value();
}

// Whether taking the samples took much longer, by the clock on the wall, than they add up to.
bool took_too_long(const ChildRun& run, int64_t total_ns) {
  const auto seen_ns = static_cast<double>(run.timing_ended_ns - run.timing_started_ns);
  return seen_ns > kUnaccountedFactor * static_cast<double>(total_ns) + kUnaccountedNs;
}

// Time that the child worked since it loaded the candidate, beyond what its samples explain; 0 where that is
// not accounted for.
int64_t unexplained_ns(const ChildRun& run, const sandbox::Job& job, int64_t total_ns, double longest_ns) {
  if (!is_accounted(run, job)) return 0;
  double bytes = static_cast<double>(job.workspace_bytes);
  for (uint32_t p = 0; p < job.port_count; ++p) bytes += static_cast<double>(job.ports[p].size_bytes);
  const double explained_ns = 1.25 * static_cast<double>(total_ns) + kNsPerByte * bytes +
                              std::max(kColdRuns * longest_ns, static_cast<double>(2 * job.warmup_ns));
  const int64_t worked_ns = run.reply.cpu_ns - *run.cpu_before_loading_ns;
  return worked_ns - static_cast<int64_t>(std::min(explained_ns, 1e18));
}

}  // namespace

absl::Status judge_end(const ChildRun& run, const sandbox::Job& job, farm::TrialResult* result) {
  if (run.reply.timed_out) {
    const bool was_ready = run.cpu_before_loading_ns.has_value();
    set(result, farm::OUTCOME_TIMED_OUT,
        absl::StrCat(was_ready ? "it did not end within " : "it was not ready to run within ",
                     (was_ready ? job.timeout_ns : run.ready_timeout_ns) / 1'000'000, " ms"));
    return absl::OkStatus();
  }
  if (WIFSIGNALED(run.reply.wait_status)) {
    judge_signal(run, job, result);
    return absl::OkStatus();
  }
  switch (run.result.end) {
    case ChildEnd::kDone:
    case ChildEnd::kStoppedEarly:
      break;
    case ChildEnd::kBuffersDoNotFit:
      set(result, farm::OUTCOME_OUT_OF_MEMORY, detail_of(run.result));
      break;
    case ChildEnd::kCannotLoad:
      set(result, farm::OUTCOME_COMPILE_ERROR, absl::StrCat("it cannot be loaded: ", detail_of(run.result)));
      break;
    case ChildEnd::kDeviceFailed:
      set(result, farm::OUTCOME_CRASHED, detail_of(run.result));
      break;
    case ChildEnd::kKernelError:
    case ChildEnd::kWroteOutside:
      set(result, farm::OUTCOME_WRONG_OUTPUT, detail_of(run.result));
      break;
    case ChildEnd::kCannotMeasure:
      if (!run.cpu_before_loading_ns) return absl::ResourceExhaustedError(detail_of(run.result));
      // From then on the candidate could say so, or see to it: it is not measured again for that.
      set(result, farm::OUTCOME_IMPLAUSIBLE,
          absl::StrCat("the measurement harness failed after it was loaded: ", detail_of(run.result)));
      break;
    case ChildEnd::kOtherDevice:
      if (!run.cpu_before_loading_ns) return absl::InvalidArgumentError(detail_of(run.result));
      [[fallthrough]];  // the candidate wrote that
    default:
      if (ran_out_of_memory(run, job)) {
        set(result, farm::OUTCOME_OUT_OF_MEMORY, memory_detail(job));
      } else {
        set(result, farm::OUTCOME_CRASHED,
            absl::StrCat("it exited with status ", WEXITSTATUS(run.reply.wait_status)));
      }
  }
  return absl::OkStatus();
}

void judge_answers(const ChildRun& run, const LoadedArtifact& loaded, const Expected& expected,
                   farm::TrialResult* result) {
  std::vector<std::string> names;
  for (uint32_t p = 0; p < loaded.job.port_count; ++p) {
    if (loaded.job.ports[p].role == sandbox::Role::kOutput) names.push_back(loaded.port_names[p]);
  }
  const std::vector<Tensor> first = read_outputs(loaded.job, run.memory.data(), false);
  Verdict verdict = compare(first, expected, loaded.tolerance, names);
  const char* when = "";
  if (verdict.right) {
    const std::vector<Tensor> last = read_outputs(loaded.job, run.memory.data(), true);
    const bool same = std::equal(first.begin(), first.end(), last.begin(),
                                 [](const Tensor& a, const Tensor& b) { return a.bytes == b.bytes; });
    if (!same) {
      const double first_error = verdict.max_error;
      verdict = compare(last, expected, loaded.tolerance, names);
      verdict.max_error = std::max(verdict.max_error, first_error);
      when = "after the timed runs: ";
    }
  }
  result->set_max_error(verdict.max_error);
  if (!verdict.right) set(result, farm::OUTCOME_WRONG_OUTPUT, absl::StrCat(when, verdict.detail));
}

bool was_held_up(const ChildRun& run, const sandbox::Job& job) {
  if (run.result.end != ChildEnd::kDone && run.result.end != ChildEnd::kStoppedEarly) return false;
  if (run.timing_started_ns == 0 || run.timing_ended_ns == 0 || is_accounted(run, job)) return false;
  const int64_t total_ns = sampled_ns(run);
  return total_ns > 0 && took_too_long(run, total_ns);
}

void judge_samples(const ChildRun& run, const sandbox::Job& job, farm::TrialResult* result) {
  const uint32_t count = std::min(run.result.sample_count, sandbox::kMaxSamples);
  double longest_ns = 0;  // of the samples' runs
  for (uint32_t i = 0; i < count; ++i) {
    const sandbox::SampleResult& sample = run.result.samples[i];
    farm::Sample* copy = result->add_samples();
    copy->set_total_ns(sample.total_ns);
    copy->set_iterations(sample.iterations);
    if (sample.iterations > 0)
      longest_ns = std::max(longest_ns, static_cast<double>(sample.total_ns) / sample.iterations);
  }
  result->set_timed_from_ns(run.timing_started_ns);
  result->set_timed_until_ns(run.timing_ended_ns);
  const int64_t total_ns = sampled_ns(run);
  if (total_ns == 0 || run.timing_started_ns == 0 || run.timing_ended_ns == 0) {
    return set(result, farm::OUTCOME_IMPLAUSIBLE, "its samples are missing or not times");
  }
  if (total_ns > run.timing_ended_ns - run.sent_ns) {
    return set(result, farm::OUTCOME_IMPLAUSIBLE,
               absl::StrCat("its samples add up to ", total_ns, " ns, but it ran for ",
                            run.timing_ended_ns - run.sent_ns, " ns"));
  }
  if (!is_accounted(run, job) && took_too_long(run, total_ns)) {
    set(result, farm::OUTCOME_IMPLAUSIBLE,
        absl::StrCat("its samples add up to ", total_ns, " ns, but taking them took ",
                     run.timing_ended_ns - run.timing_started_ns, " ns"));
  }
  if (const int64_t hidden_ns = unexplained_ns(run, job, total_ns, longest_ns); hidden_ns > kHiddenNs) {
    set(result, farm::OUTCOME_IMPLAUSIBLE,
        absl::StrCat("its samples add up to ", total_ns, " ns, but it worked for ", hidden_ns,
                     " ns more than they explain"));
  }
}

double most_gflops(const LoadedArtifact& loaded, double peak_gflops) {
  const double factor = loaded.reduced_numerics ? kReducedNumericsFactor : 1;
  return kPeakMargin * kBesideFmas * factor * loaded.job.threads * peak_gflops;
}

double best_run_ns(const farm::TrialResult& result) {
  double best = 0;
  for (const farm::Sample& sample : result.samples()) {
    const double run_ns = static_cast<double>(sample.total_ns()) / sample.iterations();
    best = best == 0 ? run_ns : std::min(best, run_ns);
  }
  return best;
}

}  // namespace tf::worker
