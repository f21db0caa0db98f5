#include "device_agent/worker/sandbox/harness.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "compiler/runtime/clock.h"
#include "device_agent/worker/sandbox/buffers.h"
#include "device_agent/worker/sandbox/confine.h"
#include "device_agent/worker/sandbox/device_backends.h"
#include "device_agent/worker/sandbox/grace_period.h"
#include "device_agent/worker/sandbox/inputs.h"
#include "device_agent/worker/sandbox/packed_input.h"
#include "device_agent/worker/sandbox/sampling.h"
#include "device_agent/worker/sandbox/system_calls.h"

namespace tf::worker::sandbox {
namespace {

constexpr int64_t kPeakBudgetNs = 25'000'000;
constexpr int64_t kToEndNs =
    100'000'000;  // of its time limit: to give back what memory it has, on a busy machine
// Time that processors worked for the calling thread, or for the whole process.
int64_t cpu_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void finish(Result* result, ChildEnd end) {
  std::fflush(nullptr);
  __atomic_store_n(&result->end, end, __ATOMIC_RELEASE);
  _exit(0);
}

[[noreturn]] __attribute__((format(printf, 3, 4))) void finish(Result* result, ChildEnd end,
                                                               const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(result->detail, sizeof result->detail, format, arguments);
  va_end(arguments);
  finish(result, end);
}

// All is ready, and from here on it waits for its turn.
void wait_at(int gate, Result* result) {
  char byte = 0;
  ssize_t length = write(gate, &byte, 1);
  if (length == 1) {
    do length = read(gate, &byte, 1);
    while (length < 0 && errno == EINTR);
  }
  if (length != 1) finish(result, ChildEnd::kCannotMeasure, "the parent is gone");
  close(gate);
}

class Harness {
 public:
  Harness(const Job& job, CapabilitySet without, const FlushBuffer& flush_buffer, Result* result,
          const int* fds)
      : job_(job),
        without_(without),
        flush_buffer_(flush_buffer),
        result_(result),
        fds_(fds),
        kind_(find_device(job.device)),
        device_(kind_ == nullptr ? nullptr : kind_->make()) {}

  // All that takes none of the job's CPUs and nothing of the candidate.
  void prepare() {
    check_device();
    if (job_.kind == JobKind::kPeak) return;
    make_guarded_set();
    if (job_.kind == JobKind::kTrial) make_timed_sets();
  }

  [[noreturn]] void run() {
    if (job_.kind == JobKind::kPeak) {
      result_->peak_gflops = device_->peak_gflops(kPeakBudgetNs);
      finish(result_, ChildEnd::kDone);
    }
    started_ns_ = tf_monotonic_ns();
    limit_cpu_time(job_);
    if (!device_->open(job_, result_->detail)) finish(result_, ChildEnd::kCannotMeasure);
    forbid_processes();
    confine(SystemCalls::kLoading);
    const Loading loading = {.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID)};
    tell_parent(&loading, sizeof loading);
    if (!device_->load(job_, fds_ + kFirstBlobFd, result_->detail)) finish(result_, ChildEnd::kCannotLoad);
    if (!note_fatal_signals(result_)) finish(result_, ChildEnd::kCannotMeasure, "no signal stack");
    result_->start_address_bytes = address_space_bytes();
    confine(SystemCalls::kComputing);
    const int64_t first_run_ns = checked_run();
    if (job_.kind == JobKind::kReference) finish(result_, ChildEnd::kDone);
    const bool stopped_early = timed_runs(first_run_ns);
    answer_once_more();
    finish(result_, stopped_early ? ChildEnd::kStoppedEarly : ChildEnd::kDone);
  }

 private:
  void confine(SystemCalls allowed) {
    if (without_.contains(Capability::kSeccomp)) return;
    if (const int error = confine_system_calls(allowed); error != 0)
      finish(result_, ChildEnd::kCannotMeasure, "cannot confine its system calls: %s", strerror(error));
  }

  // Before anything is made for it.
  void check_device() {
    if (kind_ == nullptr)
      finish(result_, ChildEnd::kOtherDevice, "this worker has no device '%s'", job_.device);
    for (uint32_t b = 0; b < job_.blob_count; ++b)
      if (job_.blob_kinds[b] != kind_->blob_kind)
        finish(result_, ChildEnd::kOtherDevice, "device '%s' does not load blobs of kind %d", job_.device,
               job_.blob_kinds[b]);
  }

  [[noreturn]] void out_of_memory() {
    uint64_t bytes = job_.workspace_bytes;
    for (uint32_t p = 0; p < job_.port_count; ++p) bytes += 2 * job_.ports[p].size_bytes;
    finish(result_, ChildEnd::kBuffersDoNotFit, "its buffers need %llu MiB, but the limit is %llu MiB",
           static_cast<unsigned long long>(bytes >> 20),
           static_cast<unsigned long long>(job_.memory_bytes >> 20));
  }

  void make_guarded_set() {
    for (uint32_t p = 0; p < job_.port_count; ++p) {
      const PortJob& port = job_.ports[p];
      if (!guarded_[p].allocate(port.size_bytes)) out_of_memory();
      guarded_pointers_[p] = guarded_[p].data();
      sizes_bytes_[p] = port.size_bytes;
      if (port.role == Role::kOutput) {
        poison_output(port, guarded_[p].data());
      } else if (!make_input(job_, p, guarded_[p].data())) {
        out_of_memory();
      }
    }
    if (!workspace_.allocate(job_.workspace_bytes)) out_of_memory();
  }

  void make_timed_sets() {
    if (flush_buffer_.size_bytes() < job_.reuse_distance_bytes) {
      finish(result_, ChildEnd::kCannotMeasure, "no memory for the %llu MiB of the flush buffer",
             static_cast<unsigned long long>(job_.reuse_distance_bytes >> 20));
    }
    if (!sets_.allocate(job_, flush_buffer_)) out_of_memory();
    pointers_ = reinterpret_cast<void**>(map_memory(sizeof(void*) * sets_.count() * job_.port_count));
    if (pointers_ == nullptr) out_of_memory();
    timed_sets_ = {pointers_, job_.port_count, sets_.count()};
    for (uint32_t s = 0; s < sets_.count(); ++s) {
      for (uint32_t p = 0; p < job_.port_count; ++p) {
        uint8_t* data = sets_.data(s, p);
        pointers_[s * job_.port_count + p] = data;
        if (!sets_.owns(s, p)) continue;
        if (job_.ports[p].role == Role::kOutput) {
          poison_output(job_.ports[p], data);
        } else {
          std::memcpy(data, guarded_[p].data(), job_.ports[p].size_bytes);
        }
      }
    }
  }

  RunBuffers buffers_of(void* const* ports) const {
    return {ports, sizes_bytes_, job_.workspace_bytes == 0 ? nullptr : workspace_.data()};
  }

  void check_run(const RunEnd& end) {
    if (end.error == 0) return;
    result_->kernel_error = end.error;
    finish(result_, ChildEnd::kKernelError, "%s returned error %d", job_.launches[end.launch].entry,
           end.error);
  }

  void run_once(void* const* ports) { check_run(device_->run(buffers_of(ports))); }

  void keep_answer(uint32_t port, const void* data, bool last) {
    const uint64_t offset = job_.ports[port].result_offset + (last ? job_.ports[port].size_bytes : 0);
    std::memcpy(reinterpret_cast<uint8_t*>(result_) + offset, data, job_.ports[port].size_bytes);
  }

  int64_t checked_run() {
    const int64_t start_ns = tf_monotonic_ns();
    run_once(guarded_pointers_);
    const int64_t elapsed_ns = tf_monotonic_ns() - start_ns;
    for (uint32_t p = 0; p < job_.port_count; ++p) {
      if (!guarded_[p].intact()) finish(result_, ChildEnd::kWroteOutside, "it wrote outside of buffer %u", p);
      if (job_.ports[p].role == Role::kOutput) {
        keep_answer(p, guarded_[p].data(), false);
      } else if (sets_.count() > 0 &&
                 std::memcmp(guarded_[p].data(), sets_.data(0, p), job_.ports[p].size_bytes) != 0) {
        finish(result_, ChildEnd::kWroteOutside, "it changed its input, buffer %u", p);
      }
    }
    if (!workspace_.intact()) finish(result_, ChildEnd::kWroteOutside, "it wrote outside of its workspace");
    return elapsed_ns;
  }

  // Runs on the next sets in turn and returns the time of all runs together.
  int64_t run_batch(uint32_t iterations) {
    const TimedRuns runs = device_->time(timed_sets_, buffers_of(nullptr), iterations);
    check_run(runs.end);
    return runs.total_ns;
  }

  // Time of one run, in ns. A first run that was long has warmed things up already.
  double warm_up(int64_t first_run_ns) {
    if (first_run_ns >= std::max(job_.warmup_ns, job_.min_sample_ns))
      return static_cast<double>(first_run_ns);
    int64_t elapsed_ns = 0;
    uint32_t runs = 0;
    uint32_t batch = 1;
    int64_t batch_ns = 0;
    do {
      batch_ns = run_batch(batch);
      elapsed_ns += batch_ns;
      runs = batch;
      if (batch_ns < 100'000 && batch < (1u << 20)) batch *= 2;  // clock reads must not count
    } while (elapsed_ns < job_.warmup_ns);
    return std::max(1.0, static_cast<double>(batch_ns) / runs);
  }

  BatchTime time_batch(uint32_t iterations) {
    if (!grace_period_.is_left()) return {.elapsed_ns = 0, .total_ns = run_batch(iterations), .cpu_ns = 0};
    const int64_t cpu_start_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    const int64_t total_ns = run_batch(iterations);
    const int64_t worked_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start_ns;
    const int64_t last_ns = std::exchange(batch_ended_ns_, tf_monotonic_ns());
    return {.elapsed_ns = batch_ended_ns_ - last_ns, .total_ns = total_ns, .cpu_ns = worked_ns};
  }

  SampleResult take_sample(double run_ns) {
    SampleResult sample = {};
    do {
      const int64_t batch_ns = std::min(job_.min_sample_ns - sample.total_ns, grace_period_.batch_ns());
      const auto iterations =
          static_cast<uint32_t>(std::clamp(static_cast<double>(batch_ns) / run_ns + 0.999, 1.0, 1e8));
      const BatchTime batch = time_batch(iterations);
      if (grace_period_.is_left() && grace_period_.leaves_out(batch)) continue;
      sample.total_ns += batch.total_ns;
      sample.iterations += iterations;
    } while (sample.iterations == 0 || sample.total_ns < job_.min_sample_ns);
    return sample;
  }

  void tell_parent(const void* what, size_t bytes) {
    if (write(fds_[kStatusFd], what, bytes) != static_cast<ssize_t>(bytes))
      finish(result_, ChildEnd::kCannotMeasure, "the parent is gone");
  }

  // The end of its time limit stays free for a last run and giving back its memory. True if stopped early.
  bool timed_runs(int64_t first_run_ns) {
    const double run_ns = warm_up(first_run_ns);
    const int64_t until_ns = started_ns_ + job_.timeout_ns - std::min(job_.timeout_ns / 4, kToEndNs);
    result_->timed = 1;
    tell_parent(&kTimingStarts, 1);
    batch_ended_ns_ = tf_monotonic_ns();
    const SamplesEnd end =
        take_samples(job_, until_ns, run_ns, result_, [this](double run_ns_now, SampleResult* sample) {
          *sample = take_sample(run_ns_now);
          return true;
        });
    tell_parent(&kTimingEnds, 1);
    result_->disturbed = grace_period_.is_disturbed() ? 1 : 0;
    return end == SamplesEnd::kSlower;
  }

  // The last timed run may have read the flush buffer, so one more follows that has the job's constants, into
  // poisoned outputs: it finds a kernel that was right only at first.
  void answer_once_more() {
    for (uint32_t p = 0; p < job_.port_count; ++p) {
      if (job_.ports[p].role == Role::kOutput) poison_output(job_.ports[p], sets_.data(0, p));
    }
    run_once(pointers_);
    for (uint32_t p = 0; p < job_.port_count; ++p) {
      if (job_.ports[p].role == Role::kOutput) keep_answer(p, sets_.data(0, p), true);
    }
  }

  const Job& job_;
  const CapabilitySet without_;
  const FlushBuffer& flush_buffer_;
  Result* const result_;
  const int* const fds_;
  int64_t started_ns_ = 0;
  const DeviceKind* const kind_;
  DeviceBackend* const device_;
  GuardedBuffer guarded_[kMaxPorts];
  GuardedBuffer workspace_;
  void* guarded_pointers_[kMaxPorts] = {};
  uint64_t sizes_bytes_[kMaxPorts] = {};
  RotatingSets sets_;
  void** pointers_ = nullptr;
  RunSets timed_sets_ = {};
  int64_t batch_ended_ns_ = 0;
  // A thread that waits for its fellows is not working either: the clocks tell nothing of kernels with
  // several.
  GracePeriod grace_period_{job_.threads == 1 ? kGracePeriodNs : 0};
};

}  // namespace

void run_job(const Job& job, CapabilitySet without, const FlushBuffer& flush_buffer, Result* result,
             const int* fds, int gate) {
  if (const int error = confine_resources(job, without, flush_buffer.size_bytes(), result); error != 0)
    finish(result, ChildEnd::kCannotMeasure, "cannot close the file system to it: %s", strerror(error));
  setvbuf(stdout, nullptr, _IOLBF, 0);
  static Harness* harness = nullptr;
  alignas(Harness) static uint8_t storage[sizeof(Harness)];
  harness = new (storage) Harness(job, without, flush_buffer, result, fds);
  harness->prepare();
  wait_at(gate, result);
  harness->run();
}

}  // namespace tf::worker::sandbox
