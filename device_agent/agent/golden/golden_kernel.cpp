#include "device_agent/agent/golden/golden_kernel.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/text/printable.h"
#include "compiler/runtime/kernel_abi.h"
#include "device_agent/agent/golden/golden_library.h"
#include "device_agent/agent/golden/golden_ptx.h"
#include "device_agent/agent/trials/executor.h"
#include "device_agent/worker/gpu/device_name.h"
#include "proto/farm/v1/farm.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::agent {
namespace {

namespace kernel = tunefarm::kernel::v1;
namespace farm = tunefarm::farm::v1;

void add_port(kernel::Manifest& manifest, const char* name, kernel::PortRole role, int64_t elems) {
  kernel::Port& port = *manifest.add_ports();
  port.set_name(name);
  port.set_role(role);
  port.set_element(kernel::ELEMENT_TYPE_FLOAT32);
  port.add_extents(elems);
  port.set_size_bytes(static_cast<uint64_t>(elems) * sizeof(float));
}

// A block a sum, by its threads in turns and then by halves.
constexpr char kOpenClSums[] = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void golden(__global const float* x, __global float* y) {
  __local float part[64];
  const int lane = get_local_id(0), row = get_group_id(0);
  float sum = 0;
  for (int i = lane; i < 131072; i += 64) sum += x[row * 131072 + i];
  part[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = 32; half_way > 0; half_way /= 2) {
    if (lane < half_way) part[lane] += part[lane + half_way];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) y[row] = part[0];
}
)";

void add_code(std::string_view device, kernel::Artifact& artifact) {
  kernel::Launch& launch = *artifact.mutable_manifest()->add_launches();
  launch.set_entry("golden");
  kernel::Blob& blob = *artifact.add_blobs();
  const std::optional<worker::GpuName> gpu = worker::parse_gpu_name(device);
  if (!gpu) {
    blob.set_kind(kernel::BLOB_KIND_ELF_SHARED);
    blob.set_content(std::string(golden_library()));
    return;
  }
  for (const char* extent : {"32", "1", "1"}) launch.add_grid(extent);
  for (const char* extent : {"64", "1", "1"}) launch.add_block(extent);
  const bool is_cuda = gpu->kind == "cuda";
  blob.set_kind(is_cuda ? kernel::BLOB_KIND_PTX : kernel::BLOB_KIND_OPENCL_C);
  blob.set_content(is_cuda ? kGoldenPtx : kOpenClSums);
}

// The sizes are those of golden/golden_kernel.c.
std::string artifact_bytes(std::string_view device) {
  kernel::Artifact artifact;
  kernel::Manifest& manifest = *artifact.mutable_manifest();
  manifest.set_abi_version(TF_ABI_VERSION);
  manifest.set_target("host");
  add_port(manifest, "x", kernel::PORT_ROLE_INPUT, (16 << 20) / int64_t{sizeof(float)});
  add_port(manifest, "y", kernel::PORT_ROLE_OUTPUT, 32);
  add_code(device, artifact);
  return artifact.SerializeAsString();
}

farm::Trial trial_of(const std::string& digest) {
  farm::Trial trial;
  trial.set_artifact_digest(digest);
  trial.set_input_seed(1);
  trial.set_threads(1);
  farm::MeasureOptions& options = *trial.mutable_options();
  options.set_samples(7);
  options.set_min_sample_ns(1'000'000);
  options.set_warmup_ns(2'000'000);
  options.set_cache_mode(
      farm::CACHE_MODE_WARM);  // x is larger than most caches; elsewhere they are part of it
  farm::Limits& limits = *trial.mutable_limits();
  limits.set_run_timeout_ns(20'000'000'000);
  limits.set_memory_bytes(256 << 20);
  limits.set_output_bytes(1000);
  return trial;
}

// How long one run took, in order of time.
std::vector<int64_t> sorted_times_ns(const farm::TrialResult& result) {
  std::vector<int64_t> times_ns;
  for (const farm::Sample& sample : result.samples())
    times_ns.push_back(sample.total_ns() / std::max<int64_t>(sample.iterations(), 1));
  std::ranges::sort(times_ns);
  return times_ns;
}

void set_times(const farm::TrialResult& result, farm::GoldenSample& sample) {
  *sample.mutable_device() = result.device();
  const std::vector<int64_t> times_ns = sorted_times_ns(result);
  if (result.outcome() != farm::OUTCOME_OK || times_ns.empty() || times_ns.front() <= 0) {
    sample.set_detail(absl::StrCat("outcome: ", farm::Outcome_Name(result.outcome()), ": ", result.detail()));
    return;
  }
  const int64_t median_ns = times_ns[times_ns.size() / 2];
  sample.set_time_ns(median_ns);
  sample.set_spread(static_cast<double>(times_ns.back() - times_ns.front()) / static_cast<double>(median_ns));
}

}  // namespace

GoldenKernel::GoldenKernel(std::string_view device)
    : artifact_(artifact_bytes(device)),
      trial_(std::make_unique<farm::Trial>(trial_of(sha256(artifact_).hex()))) {}

GoldenKernel::~GoldenKernel() = default;

std::string GoldenKernel::sample(uint32_t slot, TrialExecutor& executor, const std::stop_token& end) const {
  farm::GoldenSample sample;
  sample.set_slot(slot);
  sample.set_kernel(trial_->artifact_digest().substr(0, 16));
  const absl::StatusOr<farm::TrialResult> result = executor.run(*trial_, artifact_, "", end);
  if (result.ok()) {
    set_times(*result, sample);
  } else {
    sample.set_detail(printable(std::string(result.status().message())));
  }
  return sample.SerializeAsString();
}

}  // namespace tf::agent
