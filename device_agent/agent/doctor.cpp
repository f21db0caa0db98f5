#include "device_agent/agent/doctor.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/cli/counted.h"
#include "base/files/file.h"
#include "base/machine/cpu_list.h"
#include "base/machine/machine_files.h"
#include "base/status.h"
#include "compiler/runtime/cpu_limit.h"
#include "device_agent/agent/golden/golden_kernel.h"
#include "device_agent/agent/machine/facts.h"
#include "device_agent/agent/trials/worker_executor.h"
#include "device_agent/worker/gpu/device_name.h"
#include "device_agent/worker/worker.h"
#include "proto/config/v1/farm.pb.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/endpoint.h"
#include "rpc/doctor/doctor.h"
#include "rpc/identity/credentials.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;
using tunefarm::config::v1::DeviceAgent;

constexpr uint64_t kSlotBytes = uint64_t{1}
                                << 30;  // of memory that a slot should find: a network's largest kernels

std::string cpu_folder(uint32_t cpu) {
  return absl::StrCat("/sys/devices/system/cpu/cpu", cpu);
}

std::vector<CpuSet> all_slots(const std::vector<Offer>& offers) {
  std::vector<CpuSet> slots;
  for (const Offer& offer : offers) slots.insert(slots.end(), offer.slots.begin(), offer.slots.end());
  return slots;
}

// MemAvailable of /proc/meminfo; 0 where the kernel does not tell.
uint64_t available_bytes() {
  const absl::StatusOr<std::string> text = read_file("/proc/meminfo");
  const size_t at = text.ok() ? text->find("MemAvailable:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + 13, nullptr, 10) << 10;
}

// The folder, or the nearest above it that is there.
std::string existing_folder(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.string();
}

std::string mib(uint64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

constexpr double kSpreadTolerance = 0.1;
constexpr const char* kTrialWorker = "put the trial_worker of this version beside this program";

void examine_farm(const DeviceAgent& config, CheckList& checks) {
  const auto credentials = rpc::Credentials::load_if_given(config.tls());
  if (!config.tls().empty()) {
    checks.add(rpc::examine_certificate(
        credentials, {.role = rpc::Role::kAgent, .why = "only an agent may offer devices"}, absl::Now()));
  }
  if (!credentials.ok()) return;
  for (const Check& check :
       rpc::examine_tracker(rpc::parse_endpoint(config.tracker()), *credentials, "this agent")) {
    checks.add(check);
  }
}

Check examine_listen(const Offer& offer, bool secured) {
  Check check = rpc::examine_listen(*offer.listen, "--listen", secured);
  if (!offer.advertise.empty()) absl::StrAppend(&check.detail, ", advertised as ", offer.advertise);
  return check;
}

// One line for the missing layers that the agent would refuse to run without, one for those it may lack, and
// one for the layers that hold.
absl::Status examine_sandbox(const DeviceAgent& config, CheckList& checks) {
  TF_ASSIGN_OR_RETURN(const worker::SandboxPolicy policy,
                      worker::parse_without_sandbox(config.without_sandbox()));
  TF_ASSIGN_OR_RETURN(const std::vector<worker::CapabilityState> states, worker::probe_sandbox());
  worker::CapabilitySet present;
  std::vector<worker::CapabilityState> refused, allowed;
  for (const worker::CapabilityState& state : states) {
    if (state.present) {
      present.add(state.capability);
    } else if (policy.without_missing || policy.without.contains(state.capability)) {
      allowed.push_back(state);
    } else {
      refused.push_back(state);
    }
  }
  const auto add_missing = [&](const std::vector<worker::CapabilityState>& missing, Health health) {
    if (missing.empty()) return;
    const worker::MissingText text = worker::missing_text(missing);
    checks.add({.what = "sandbox",
                .health = health,
                .detail = absl::StrCat("lacks ", text.truth),
                .remedy = health == Health::kWeak
                              ? text.remedy
                              : absl::StrCat(text.remedy, "; or --without-sandbox ", text.names)});
  };
  add_missing(refused, Health::kFailed);
  add_missing(allowed, Health::kWeak);
  checks.add({.what = "sandbox",
              .detail = absl::StrCat("holds: ", absl::StrJoin(worker::capability_names(present), ", "))});
  return absl::OkStatus();
}

// In the sandbox that there is: whether that is enough was examined before.
absl::StatusOr<std::unique_ptr<worker::Worker>> start_worker(const std::string& device, const CpuSet& cpus) {
  return worker::Worker::start({.device = device,
                                .sandbox = {.without = {}, .without_missing = true},
                                .cpus = {cpus.begin(), cpus.end()}});
}

absl::StatusOr<pb::GoldenSample> run_golden(const std::string& device, const CpuSet& cpus) {
  TF_ASSIGN_OR_RETURN(const auto worker, start_worker(device, cpus));
  WorkerExecutor executor(*worker);
  pb::GoldenSample sample;
  sample.ParseFromString(GoldenKernel(device).sample(0, executor, {}));
  if (sample.time_ns() > 0) return sample;
  return absl::InternalError(absl::StrCat("the golden kernel: ", sample.detail()));
}

// Whether it opens, what it is, and how fast.
Check examine_gpu(const std::string& device, const CpuSet& cpus) {
  const auto found = [&]() -> absl::StatusOr<std::string> {
    TF_ASSIGN_OR_RETURN(const auto worker, start_worker(device, cpus));
    TF_ASSIGN_OR_RETURN(const double gflops, worker->peak_gflops());
    const std::optional<worker::GpuDevice> gpu = worker->gpu();
    if (!gpu) return absl::InternalError("it does not say what it is");
    return absl::StrFormat("%s: %s, %s, %s, %.0f GFLOP/s", device, gpu->model, gpu->driver,
                           mib(gpu->memory_bytes), gflops);
  }();
  if (found.ok()) return {.what = "GPU", .detail = *found};
  const std::string why(found.status().message());
  return {.what = "GPU",
          .health = Health::kFailed,
          .detail = absl::StartsWith(why, device) ? why : absl::StrCat(device, ": ", why),
          .remedy = "an agent can measure on the CPUs meanwhile: omit --device"};
}

// What the configuration offers, with a check of what keeps an agent from offering it. Only the name is
// missing without a key: all else is examined as of a device with the key KEY. Empty: the devices are not
// known.
std::vector<Offer> examined_offers(const DeviceAgent& config, const CpuSet& allowed,
                                   const std::string& state_folder, CheckList& checks) {
  const bool is_nameless = config.key().empty() && config.devices().empty();
  DeviceAgent named = config;
  if (is_nameless) named.set_key("KEY");
  absl::StatusOr<std::vector<Offer>> offers = offers_of(named, allowed, state_folder);
  if (!offers.ok()) {
    Check check = check_of("device", offers.status(), "see `device_agent --help`, or omit the option");
    absl::StrAppend(&check.detail, "; its slots, state folder and port were not checked");
    checks.add(std::move(check));
    return {};
  }
  if (is_nameless) {
    checks.add({.what = "device",
                .health = Health::kFailed,
                .detail = "it has no key, which an agent needs; the other checks assume the key KEY",
                .remedy = "give --key KEY, the name under which tuners request it"});
  }
  return *std::move(offers);
}

// The golden kernel goes the way of a candidate, so that it shows whether that way works.
Check examine_worker(const std::string& device, const CpuSet& cpus) {
  const absl::StatusOr<pb::GoldenSample> sample = run_golden(device, cpus);
  if (!sample.ok()) return check_of("measuring", sample.status(), kTrialWorker);
  Check check{.what = "measuring",
              .detail = golden_text(static_cast<double>(sample->time_ns()) * 1e-6, sample->spread())};
  if (sample->spread() <= kSpreadTolerance) return check;
  check.health = Health::kWeak;
  check.remedy =
      "other programs share these CPUs, or their clock changes: stop those programs, fix the clock, or offer "
      "other CPUs";
  return check;
}

}  // namespace

Check examine_cpus(const std::vector<Offer>& offers) {
  const std::vector<CpuSet> slots = all_slots(offers);
  std::map<uint32_t, size_t> slot_of;
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const uint32_t cpu : slots[i]) slot_of[cpu] = i;
  }
  Check check{.what = "CPUs", .detail = absl::StrCat("slots: ", slots_text(slots))};
  if (const double quota = tf_cpu_quota(""); quota > 0 && quota < static_cast<double>(slot_of.size())) {
    check.health = Health::kWeak;
    absl::StrAppend(&check.detail, ", but the container's CPU quota gives the time of ", quota,
                    " CPUs, so trials are throttled");
    check.remedy = "give the container whole CPUs, as by docker run --cpuset-cpus, instead of a quota";
    return check;
  }
  for (const auto& [cpu, slot] : slot_of) {
    const auto siblings = parse_cpu_list(first_line(cpu_folder(cpu) + "/topology/thread_siblings_list"));
    if (!siblings.ok()) continue;
    for (const uint32_t sibling : *siblings) {
      const auto other = slot_of.find(sibling);
      if (other == slot_of.end() || other->second == slot) continue;
      check.health = Health::kWeak;
      check.detail =
          absl::StrCat("CPUs ", cpu, " and ", sibling, " are threads of one core, but in two slots");
      check.remedy = "they slow each other down: put them into one slot, or omit one";
      return check;
    }
  }
  return check;
}

Check examine_governor(const std::vector<Offer>& offers) {
  std::set<std::string> governors;
  for (const CpuSet& cpus : all_slots(offers)) {
    for (const uint32_t cpu : cpus)
      governors.insert(first_line(cpu_folder(cpu) + "/cpufreq/scaling_governor"));
  }
  governors.erase("");
  Check check{.what = "governor", .detail = absl::StrJoin(governors, ", ")};
  if (governors.empty()) check.detail = "unknown: the system does not report it";
  if (governors.empty() || governors == std::set<std::string>{"performance"}) return check;
  check.health = Health::kWeak;
  check.remedy = "clocks that follow the load make times vary: run `cpupower frequency-set -g performance`";
  return check;
}

Check examine_memory(size_t slots) {
  const uint64_t available = available_bytes();
  Check check{.what = "memory", .detail = mib(available) + " available"};
  if (available == 0) check.detail = "unknown: the system does not report it";
  if (available == 0 || available >= slots * kSlotBytes) return check;
  check.health = Health::kWeak;
  check.remedy =
      absl::StrCat(counted(static_cast<int64_t>(slots), "slot"), " should have ", mib(kSlotBytes),
                   slots == 1 ? "" : " each",
                   " for large kernels: ", slots == 1 ? "" : "offer fewer slots, or ", "end other programs");
  return check;
}

Check examine_disk(const std::string& state_dir, uint64_t cache_bytes) {
  const std::string folder = existing_folder(state_dir);
  Check check{.what = "state folder"};
  struct statvfs disk {};
  if (!std::filesystem::is_directory(folder) || statvfs(folder.c_str(), &disk) != 0 ||
      access(folder.c_str(), W_OK) != 0) {
    check.health = Health::kFailed;
    check.detail = absl::StrCat(state_dir, " cannot be written by this user");
    check.remedy = "give another --state-dir or change its owner";
    return check;
  }
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  check.detail = absl::StrCat(state_dir, ", ", mib(free), " free");
  if (free >= cache_bytes) return check;
  check.health = Health::kWeak;
  check.remedy = absl::StrCat("the cache may take ", mib(cache_bytes), ": free space or lower --cache-mib");
  return check;
}

std::string golden_text(double time_ms, double spread) {
  return absl::StrFormat(
      "the golden kernel takes %.3f ms; its fastest and slowest run differ by %s that", time_ms,
      spread < 1 ? absl::StrFormat("%.1f%% of", 100 * spread) : absl::StrFormat("%.3g times", spread));
}

void examine(const DeviceAgent& config, const std::string& state_folder, CheckList& checks) {
  examine_farm(config, checks);
  const CpuSet allowed = allowed_cpus();
  const std::vector<Offer> offers = examined_offers(config, allowed, state_folder, checks);
  if (!offers.empty()) checks.add(examine_cpus(offers));
  const std::vector<Offer> whole = {{.slots = {allowed}}};  // the machine, whatever it is to offer
  const std::vector<Offer>& measured = offers.empty() ? whole : offers;
  checks.add(examine_governor(measured));
  for (const Offer& offer : offers) {
    checks.add(examine_disk(offer.state_dir, uint64_t{config.cache_mib()} << 20));
    if (offer.listen) checks.add(examine_listen(offer, !config.tls().empty()));
  }
  checks.add(examine_memory(slot_count(measured)));
  if (const absl::Status status = examine_sandbox(config, checks); !status.ok())
    checks.add(check_of("sandbox", status, kTrialWorker));
  const CpuSet& cpus = measured.front().slots.front();
  const std::string device = config.device().empty() ? "cpu" : config.device();
  if (worker::parse_gpu_name(device)) {
    Check check = examine_gpu(device, cpus);
    const bool is_there = check.health != Health::kFailed;
    checks.add(std::move(check));
    if (!is_there) return;
  }
  checks.add(examine_worker(device, cpus));
}

}  // namespace tf::agent
