// What the tracker and the worker say, and the whole list.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "device_agent/agent/doctor.h"
#include "device_agent/agent/facts.h"
#include "device_agent/agent/golden_kernel.h"
#include "device_agent/agent/worker_executor.h"
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
absl::StatusOr<pb::GoldenSample> run_golden(const CpuSet& cpus) {
  TF_ASSIGN_OR_RETURN(const auto worker,
                      worker::Worker::start({.sandbox = {.without = {}, .without_missing = true},
                                             .cpus = {cpus.begin(), cpus.end()}}));
  WorkerExecutor executor(*worker);
  pb::GoldenSample sample;
  sample.ParseFromString(GoldenKernel().sample(0, executor, {}));
  if (sample.time_ns() > 0) return sample;
  return absl::InternalError(absl::StrCat("the golden kernel: ", sample.detail()));
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
Check examine_worker(const CpuSet& cpus) {
  const absl::StatusOr<pb::GoldenSample> sample = run_golden(cpus);
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

std::string golden_text(double time_ms, double spread) {
  const std::string takes = absl::StrFormat("the golden kernel takes %.3f ms, ", time_ms);
  return takes + (spread < 1 ? absl::StrFormat("%.1f%% between its fastest and slowest run", 100 * spread)
                             : absl::StrFormat("and its runs differ %.3g times as much", spread));
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
  checks.add(examine_worker(measured.front().slots.front()));
}

}  // namespace tf::agent
