#include "device_agent/worker/gpu/gpu_trial.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "compiler/runtime/clock.h"
#include "device_agent/worker/sandbox/buffers.h"
#include "device_agent/worker/sandbox/inputs.h"
#include "device_agent/worker/sandbox/packed_input.h"
#include "device_agent/worker/sandbox/sampling.h"

namespace tf::worker::gpu_worker {
namespace {

using sandbox::ChildEnd;
using sandbox::Role;

constexpr int kChecks = 3;                   // runs whose answers must be equal
constexpr int64_t kLongRunNs = 200'000'000;  // then one is enough
constexpr int64_t kShortBatchNs = 100'000;   // the clock must not count
constexpr uint32_t kMostBatch = 1 << 12;     // launches that may wait in a driver's queue
constexpr double kShortRunNs = 20'000;       // so short that the host's launches would be timed
constexpr uint32_t kGraphLaunches = 256;     // of one graph, about: making one takes time by their number

}  // namespace

GpuTrial::~GpuTrial() {
  if (graph_ != nullptr) driver_.drop_graph(graph_);
  if (program_ != nullptr) driver_.unload(program_);
  for (uint32_t p = 0; p < job_.port_count; ++p)
    if (host_[p] != nullptr) sandbox::unmap_memory(host_[p], job_.ports[p].size_bytes);
}

bool GpuTrial::end(ChildEnd how, const char* detail) {
  std::snprintf(result_->detail, sizeof result_->detail, "%s", detail);
  __atomic_store(&result_->end, &how, __ATOMIC_RELEASE);
  return false;
}

// A program that ran is not to blame for what the device refuses later: memory for a graph, an event, a copy.
bool GpuTrial::device_failed() {
  return end(driver_.is_lost(open_.device) ? ChildEnd::kDeviceFailed : ChildEnd::kCannotMeasure, error_);
}

// A first launch that a device refuses, as for too many registers, leaves it as it was: such a program cannot be used there.
bool GpuTrial::launch_failed() {
  if (has_run_ || driver_.is_lost(open_.device)) return device_failed();
  return end(ChildEnd::kCannotLoad, error_);
}

bool GpuTrial::prepare() {
  if (!make_host_inputs()) return end(ChildEnd::kBuffersDoNotFit, "the host has no memory for its inputs");
  set_count_ = sets_wanted();
  for (uint32_t s = 0; s < set_count_; ++s) {
    for (uint32_t p = 0; p < job_.port_count; ++p) {
      if (!sets_[s].ports[p].allocate(driver_, open_.device, job_.ports[p].size_bytes,
                                      open_.facts.alignment_bytes, error_))
        return end(ChildEnd::kBuffersDoNotFit, error_);
    }
    if (!fill_set(sets_[s])) return end(ChildEnd::kCannotMeasure, error_);
  }
  if (job_.workspace_bytes > 0 && (!workspace_.allocate(driver_, open_.device, job_.workspace_bytes,
                                                        open_.facts.alignment_bytes, error_) ||
                                   !workspace_.fill(0xff, error_)))
    return end(ChildEnd::kBuffersDoNotFit, error_);
  return true;
}

bool GpuTrial::make_host_inputs() {
  for (uint32_t p = 0; p < job_.port_count; ++p) {
    host_[p] = sandbox::map_memory(job_.ports[p].size_bytes);
    if (host_[p] == nullptr) return false;
    if (job_.ports[p].role != Role::kOutput && !sandbox::make_input(job_, p, host_[p])) return false;
  }
  return true;
}

// So many that together they exceed twice the last cache: then each run finds its buffers in memory.
uint32_t GpuTrial::sets_wanted() const {
  if (!job_.rotate) return 1;
  uint64_t set_bytes = 1;
  for (uint32_t p = 0; p < job_.port_count; ++p) set_bytes += job_.ports[p].size_bytes;
  const uint64_t wanted = 2 * open_.facts.cache_bytes / set_bytes + 1;
  const uint64_t room = job_.memory_bytes / 2 / set_bytes;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::min(std::max<uint64_t>(wanted, 2), room), 1, kMostSets));
}

bool GpuTrial::fill_set(Set& set) {
  for (uint32_t p = 0; p < job_.port_count; ++p)
    if (job_.ports[p].role != Role::kOutput && !set.ports[p].upload(host_[p], error_)) return false;
  return poison_outputs(set);
}

bool GpuTrial::poison_outputs(Set& set) {
  for (uint32_t p = 0; p < job_.port_count; ++p) {
    if (job_.ports[p].role != Role::kOutput) continue;
    sandbox::poison_output(job_.ports[p], host_[p]);
    if (!set.ports[p].upload(host_[p], error_)) return false;
  }
  return true;
}

bool GpuTrial::load(const CodeBytes* forms, uint32_t form_count) {
  char error[gpu::kErrorChars];  // the first form is what it was measured as elsewhere: of that one we tell
  for (uint32_t f = 0; f < form_count && program_ == nullptr && !driver_.is_lost(open_.device); ++f)
    program_ = driver_.load(open_.device, forms[f].data, forms[f].size_bytes, f == 0 ? error_ : error);
  if (program_ == nullptr) return end(ChildEnd::kCannotLoad, error_);
  for (uint32_t s = 0; s < set_count_; ++s)
    if (!bind(sets_[s], program_)) return end(ChildEnd::kCannotLoad, error_);
  return true;
}

// An artifact is for one binding of its dimensions: they are no parameters.
bool GpuTrial::bind(Set& set, gpu::Program* program) {
  gpu::Argument arguments[sandbox::kMaxPorts + 1];
  uint32_t count = 0;
  for (uint32_t p = 0; p < job_.port_count; ++p) arguments[count++] = set.ports[p].argument();
  if (job_.workspace_bytes > 0) arguments[count++] = workspace_.argument();
  for (uint32_t l = 0; l < job_.launch_count; ++l) {
    set.kernels[l] = driver_.find(program, job_.launches[l].entry, error_);
    if (set.kernels[l] == nullptr || !driver_.bind(set.kernels[l], arguments, count, nullptr, 0, error_) ||
        !map_tensors(job_.launches[l], set.kernels[l]))
      return false;
  }
  return true;
}

bool GpuTrial::map_tensors(const sandbox::LaunchJob& launch, gpu::Kernel* kernel) {
  if (launch.map_count == 0) return true;
  gpu::TensorMap maps[sandbox::kMaxTensorMaps];
  for (uint32_t i = 0; i < launch.map_count; ++i) {
    const sandbox::TensorMapJob& map = launch.maps[i];
    maps[i] = {.argument = map.buffer,
               .element_bytes = map.element_bytes,
               .rank = map.rank,
               .extents = {},
               .box = {}};
    std::copy_n(map.extents, map.rank, maps[i].extents);
    std::copy_n(map.box, map.rank, maps[i].box);
  }
  if (driver_.map != nullptr) return driver_.map(kernel, maps, launch.map_count, error_);
  std::snprintf(error_, sizeof error_, "%s devices make no tensor maps", driver_.name);
  return false;
}

gpu::LaunchSize GpuTrial::size_of(uint32_t index) const {
  const sandbox::LaunchJob& launch = job_.launches[index];
  gpu::LaunchSize size{.grid = {}, .block = {}, .shared_bytes = static_cast<uint32_t>(launch.shared_bytes)};
  for (int axis = 0; axis < 3; ++axis) {
    size.grid[axis] = static_cast<uint64_t>(launch.grid[axis]);
    size.block[axis] = static_cast<uint32_t>(launch.block[axis]);
  }
  return size;
}

bool GpuTrial::launch(Set& set) {
  for (uint32_t l = 0; l < job_.launch_count; ++l)
    if (!driver_.launch(set.kernels[l], size_of(l), error_)) return launch_failed();
  return true;
}

bool GpuTrial::run_once(Set& set, int64_t* elapsed_ns) {
  const int64_t start_ns = tf_monotonic_ns();
  if (!launch(set)) return false;
  if (!driver_.finish(open_.device, error_)) return launch_failed();
  *elapsed_ns = tf_monotonic_ns() - start_ns;
  has_run_ = true;
  return true;
}

// PoCL compiles a kernel anew for grids with more threads along an axis than 16 bits count.
bool GpuTrial::compile_launches() {
  constexpr uint64_t kSmallGrid = 1 << 16;
  for (uint32_t l = 0; l < job_.launch_count; ++l) {
    gpu::LaunchSize size = size_of(l);
    for (int axis = 0; axis < 3; ++axis) {
      const bool is_small = size.grid[axis] * size.block[axis] < kSmallGrid;
      size.grid[axis] = is_small ? std::min<uint64_t>(size.grid[axis], 1) : kSmallGrid / size.block[axis] + 1;
    }
    if (!driver_.launch(sets_[0].kernels[l], size, error_)) return launch_failed();
  }
  return driver_.finish(open_.device, error_) || launch_failed();
}

bool GpuTrial::checked_runs() {
  began_ns_ = tf_monotonic_ns();
  Set& set = sets_[0];
  for (int check = 0; check < kChecks; ++check) {
    if (check > 0 && first_run_ns_ > kLongRunNs) break;
    if (!poison_outputs(set)) return device_failed();
    if (job_.workspace_bytes > 0 && !workspace_.fill(0xff, error_)) return device_failed();
    if (!run_once(set, &first_run_ns_) || !check_memory(set)) return false;
    if (check == 0 ? !keep_answer(set, false) : !same_answer(set)) return false;
  }
  return true;
}

bool GpuTrial::keep_answer(const Set& set, bool last) {
  for (uint32_t p = 0; p < job_.port_count; ++p) {
    const sandbox::PortJob& port = job_.ports[p];
    if (port.role != Role::kOutput) continue;
    const uint64_t offset = port.result_offset + (last ? port.size_bytes : 0);
    if (!set.ports[p].download(reinterpret_cast<uint8_t*>(result_) + offset, error_)) return device_failed();
  }
  return true;
}

bool GpuTrial::same_answer(const Set& set) {
  for (uint32_t p = 0; p < job_.port_count; ++p) {
    const sandbox::PortJob& port = job_.ports[p];
    if (port.role != Role::kOutput) continue;
    if (!set.ports[p].download(host_[p], error_)) return device_failed();
    if (std::memcmp(host_[p], reinterpret_cast<uint8_t*>(result_) + port.result_offset, port.size_bytes) != 0)
      return end(ChildEnd::kWroteOutside,
                 "two runs on the same inputs gave different answers: its threads race");
  }
  return true;
}

// Inputs and guards.
bool GpuTrial::check_memory(const Set& set) {
  char detail[64];
  for (uint32_t p = 0; p < job_.port_count; ++p) {
    bool intact = true;
    if (!set.ports[p].check_guards(&intact, error_)) return device_failed();
    std::snprintf(detail, sizeof detail, "it wrote outside of buffer %u", p);
    if (!intact) return end(ChildEnd::kWroteOutside, detail);
    if (job_.ports[p].role == Role::kOutput) continue;
    const uint64_t size_bytes = job_.ports[p].size_bytes;
    uint8_t* now = sandbox::map_memory(size_bytes);
    if (now == nullptr)
      return end(ChildEnd::kBuffersDoNotFit, "the host has no memory to compare its inputs");
    const bool read = set.ports[p].download(now, error_);
    const bool same = read && std::memcmp(now, host_[p], size_bytes) == 0;
    sandbox::unmap_memory(now, size_bytes);
    if (!read) return device_failed();
    std::snprintf(detail, sizeof detail, "it changed its input, buffer %u", p);
    if (!same) return end(ChildEnd::kWroteOutside, detail);
  }
  bool intact = true;
  if (job_.workspace_bytes > 0 && !workspace_.check_guards(&intact, error_)) return device_failed();
  return intact || end(ChildEnd::kWroteOutside, "it wrote outside of its workspace");
}

// Whole rounds of all sets, so many that a graph has about kGraphLaunches. A device that makes none, as for want of memory, is
// given single launches.
bool GpuTrial::make_graph() {
  wants_graph_ = false;
  const uint32_t round = set_count_ * job_.launch_count;
  const uint32_t rounds = std::max(kGraphLaunches / round, 1u);
  static gpu::GraphLaunch launches[kGraphLaunches + kMostSets * sandbox::kMaxLaunches];
  uint32_t count = 0;
  for (uint32_t r = 0; r < rounds; ++r)
    for (uint32_t s = 0; s < set_count_; ++s)
      for (uint32_t l = 0; l < job_.launch_count; ++l) launches[count++] = {sets_[s].kernels[l], size_of(l)};
  graph_ = driver_.make_graph(open_.device, launches, count, error_);
  graph_runs_ = rounds * set_count_;
  return graph_ != nullptr || !driver_.is_lost(open_.device) || device_failed();
}

// Runs on the next sets in turn: `runs` of them, or with a graph whole graphs of at least so many.
bool GpuTrial::run_batch(uint32_t* runs, int64_t* total_ns) {
  if (!driver_.begin_time(open_.device, error_)) return device_failed();
  if (graph_ != nullptr) {
    const uint32_t graphs = (*runs + graph_runs_ - 1) / graph_runs_;
    *runs = graphs * graph_runs_;
    for (uint32_t i = 0; i < graphs; ++i)
      if (!driver_.launch_graph(graph_, error_)) return device_failed();
  } else {
    for (uint32_t i = 0; i < *runs; ++i) {
      if (!launch(sets_[next_set_])) return false;
      if (++next_set_ == set_count_) next_set_ = 0;
    }
  }
  return driver_.end_time(open_.device, total_ns, error_) || device_failed();
}

// By time, so that the device's clock is up: 25 ms are too few on a large GPU.
bool GpuTrial::warm_up(double* run_ns) {
  const int64_t start_ns = tf_monotonic_ns();
  uint32_t batch = 1;
  int64_t batch_ns = 0;
  do {
    uint32_t runs = batch;
    if (!run_batch(&runs, &batch_ns)) return false;
    *run_ns = std::max(1.0, static_cast<double>(batch_ns) / runs);
    if (batch_ns < kShortBatchNs && batch < kMostBatch) {
      batch *= 2;
    } else if (wants_graph_ && *run_ns < kShortRunNs) {
      if (!make_graph()) return false;
    }
  } while (tf_monotonic_ns() - start_ns < job_.warmup_ns);
  return true;
}

bool GpuTrial::take_sample(double run_ns, sandbox::SampleResult* sample) {
  do {
    const auto left_ns = static_cast<double>(job_.min_sample_ns - sample->total_ns);
    auto runs = static_cast<uint32_t>(std::clamp(left_ns / run_ns + 0.999, 1.0, double{kMostBatch}));
    int64_t batch_ns = 0;
    if (!run_batch(&runs, &batch_ns)) return false;
    sample->total_ns += batch_ns;
    sample->iterations += runs;
  } while (sample->total_ns < job_.min_sample_ns);
  return true;
}

bool GpuTrial::timed_runs(int status_fd) {
  double run_ns = 1;
  if (!warm_up(&run_ns)) return false;
  result_->timed = 1;
  if (write(status_fd, &sandbox::kTimingStarts, 1) != 1)
    return end(ChildEnd::kCannotMeasure, "the parent is gone");
  const sandbox::SamplesEnd samples = sandbox::take_samples(
      job_, began_ns_ + job_.timeout_ns / 4 * 3, run_ns, result_,
      [this](double run_ns_now, sandbox::SampleResult* sample) { return take_sample(run_ns_now, sample); });
  if (samples == sandbox::SamplesEnd::kFailed) return false;
  if (write(status_fd, &sandbox::kTimingEnds, 1) != 1)
    return end(ChildEnd::kCannotMeasure, "the parent is gone");
  // Once more, into poisoned outputs: it finds a kernel that was right only at first.
  int64_t elapsed_ns = 0;
  if (!poison_outputs(sets_[0])) return device_failed();
  if (!run_once(sets_[0], &elapsed_ns) || !keep_answer(sets_[0], true)) return false;
  ChildEnd how = samples == sandbox::SamplesEnd::kSlower ? ChildEnd::kStoppedEarly : ChildEnd::kDone;
  __atomic_store(&result_->end, &how, __ATOMIC_RELEASE);
  return true;
}

}  // namespace tf::worker::gpu_worker
