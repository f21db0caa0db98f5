#include "device_agent/worker/trial_setup.h"

#include <algorithm>
#include <cstdio>

#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

namespace farm = tunefarm::farm::v1;

// Of the flush buffer for a network's other constants, in each zygote.
constexpr uint64_t kMostFlushBytes = 256 << 20;

}  // namespace

void set_up_trial(const farm::Trial& trial, uint64_t workspace_per_thread_bytes, const Caches& caches,
                  sandbox::Job* job) {
  const farm::MeasureOptions& options = trial.options();
  job->kind = sandbox::JobKind::kTrial;
  job->threads = trial.threads();
  job->seed = trial.input_seed();
  job->samples = options.samples();
  job->rotate = options.cache_mode() == farm::CACHE_MODE_ROTATE;
  job->min_sample_ns = options.min_sample_ns();
  job->warmup_ns = options.warmup_ns();
  job->stop_if_slower_than_ns = options.stop_if_slower_than_ns();
  job->noise = options.noise();
  job->enough_ns = options.enough_ns();
  job->timeout_ns = trial.limits().run_timeout_ns();
  job->memory_bytes = trial.limits().memory_bytes();
  job->workspace_bytes += trial.threads() * workspace_per_thread_bytes;
  job->rotate_bytes = 2 * caches.l2_bytes * std::min<uint64_t>(trial.threads(), 16);
  // Once twice the last cache's size was read, what was there before is gone, whatever goes first.
  job->reuse_distance_bytes =
      std::min({options.reuse_distance_bytes(), 2 * caches.last_bytes, kMostFlushBytes});
  if (job->reuse_distance_bytes > 0)
    job->rotate_bytes = std::min(job->rotate_bytes, job->reuse_distance_bytes);
}

void limit_memory(uint64_t most_bytes, sandbox::Job* job) {
  const uint64_t beside_bytes = sandbox::kThreadBytes * job->threads + job->reuse_distance_bytes;
  job->memory_bytes = std::min(job->memory_bytes, most_bytes - std::min(most_bytes, beside_bytes));
}

std::optional<ChildRun> does_not_fit(const LoadedArtifact& loaded) {
  const sandbox::Job& job = loaded.job;
  uint64_t needed_bytes = job.workspace_bytes;
  for (uint32_t p = 0; p < job.port_count; ++p) {
    if (__builtin_add_overflow(needed_bytes, job.ports[p].size_bytes, &needed_bytes))
      needed_bytes = UINT64_MAX;
  }
  needed_bytes = std::max(needed_bytes, loaded.result_bytes);
  if (__builtin_add_overflow(needed_bytes, loaded.result_bytes, &needed_bytes)) needed_bytes = UINT64_MAX;
  if (needed_bytes <= job.memory_bytes) return std::nullopt;
  ChildRun run = {};
  run.result.end = sandbox::ChildEnd::kBuffersDoNotFit;
  std::snprintf(run.result.detail, sizeof run.result.detail,
                "its buffers need %llu MiB, but the limit is %llu MiB",
                static_cast<unsigned long long>(needed_bytes >> 20),
                static_cast<unsigned long long>(job.memory_bytes >> 20));
  return run;
}

}  // namespace tf::worker
