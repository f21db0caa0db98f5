// What the tracker and the worker say, and the whole list.
#include <grpcpp/grpcpp.h>

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
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/endpoint.h"
#include "rpc/grpc_status.h"
#include "rpc/identity/credentials.h"
#include "rpc/protocol.h"
#include "rpc/server.h"
#include "rpc/unreachable.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;
using tunefarm::config::v1::DeviceAgent;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(3);
constexpr absl::Duration kClockTolerance = absl::Seconds(2);
constexpr double kSpreadTolerance = 0.1;

using Credentials = std::shared_ptr<rpc::Credentials>;  // null: plain text

absl::StatusOr<rpc::Endpoint> tracker_of(const DeviceAgent& config, const Credentials& credentials) {
  TF_ASSIGN_OR_RETURN(rpc::Endpoint tracker, rpc::parse_endpoint(config.tracker()));
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  return tracker;
}

Check examine_certificate(const absl::StatusOr<Credentials>& credentials) {
  if (!credentials.ok()) return check_of("certificate", credentials.status());
  const std::string until =
      absl::FormatTime("%Y-%m-%d", (*credentials)->certificate().not_after(), absl::UTCTimeZone());
  return {.what = "certificate",
          .detail = absl::StrCat("of ", (*credentials)->identity().text(), ", good until ", until)};
}

struct Answer {
  pb::Description description;
  absl::Duration ahead;  // the tracker's clock before ours
  absl::Duration took;
};

absl::StatusOr<Answer> ask(const rpc::Endpoint& tracker, const Credentials& credentials) {
  grpc::ClientContext context;
  rpc::set_deadline(context, kAnswerTimeout);
  Answer answer;
  const auto channel = rpc::make_channel(tracker, credentials, rpc::Role::kTracker);
  if (!rpc::wait_until_connected(*channel, kAnswerTimeout))
    return rpc::unreachable("tracker", tracker, credentials != nullptr);
  const absl::Time sent = absl::Now();
  TF_RETURN_IF_ERROR(rpc::from_grpc(
      pb::Agents::NewStub(channel)->Describe(&context, pb::DescribeRequest(), &answer.description), "tracker",
      tracker, credentials != nullptr));
  answer.took = absl::Now() - sent;
  answer.ahead = absl::FromUnixNanos(answer.description.unix_time_ns()) - (sent + answer.took / 2);
  return answer;
}

Check examine_clock(absl::Duration ahead) {
  Check check{.what = "clock",
              .detail = absl::StrCat(
                  "differs from the tracker's by ",
                  absl::FormatDuration(absl::AbsDuration(absl::Trunc(ahead, absl::Milliseconds(1)))))};
  if (absl::AbsDuration(ahead) <= kClockTolerance) return check;
  check.health = Health::kWeak;
  check.remedy = "times of results and of certificates will not agree: let NTP set the clock (timedatectl)";
  return check;
}

void examine_tracker(const DeviceAgent& config, std::vector<Check>& checks) {
  const absl::StatusOr<Credentials> credentials = rpc::Credentials::load_if_given(config.tls());
  if (!config.tls().empty()) checks.push_back(examine_certificate(credentials));
  if (!credentials.ok()) return;
  const absl::StatusOr<rpc::Endpoint> tracker = tracker_of(config, *credentials);
  const absl::StatusOr<Answer> answer = tracker.ok() ? ask(*tracker, *credentials) : tracker.status();
  if (!answer.ok()) {
    checks.push_back(check_of("tracker", answer.status()));
    return;
  }
  checks.push_back({.what = "tracker",
                    .detail = absl::StrFormat("answers at %s in %.1f ms", tracker->text(),
                                              absl::ToDoubleMilliseconds(answer->took))});
  const absl::Status version =
      rpc::check_protocol("the tracker", answer->description.protocol_version(), "this agent");
  const std::string ours = absl::StrCat("version ", rpc::kProtocolVersion, " on both sides");
  checks.push_back(check_of("protocol", version.ok() ? absl::StatusOr<std::string>(ours) : version));
  checks.push_back(examine_clock(answer->ahead));
}

// Whether the port is free. A running agent has it: then that is the answer.
absl::StatusOr<std::string> examine_listen(const Offer& offer, bool secured) {
  if (!secured) TF_RETURN_IF_ERROR(rpc::require_loopback(*offer.listen, "--listen"));
  const absl::Status bound = rpc::check_bindable(*offer.listen);
  if (absl::IsAlreadyExists(bound))
    return absl::StrCat(offer.listen->text(), " is in use, maybe by the running agent");
  TF_RETURN_IF_ERROR(bound);
  return absl::StrCat(offer.listen->text(), " is free",
                      offer.advertise.empty() ? "" : ", advertised as " + offer.advertise);
}

// A line for each layer of the sandbox that is missing, and one for the others.
absl::Status examine_sandbox(const DeviceAgent& config, std::vector<Check>& checks) {
  TF_ASSIGN_OR_RETURN(const worker::SandboxPolicy policy,
                      worker::parse_without_sandbox(config.without_sandbox()));
  TF_ASSIGN_OR_RETURN(const std::vector<worker::CapabilityState> states, worker::probe_sandbox());
  worker::CapabilitySet present;
  for (const worker::CapabilityState& state : states) {
    if (state.present) {
      present.add(state.capability);
      continue;
    }
    const std::string name(worker::capability_name(state.capability));
    const bool allowed = policy.without_missing || policy.without.contains(state.capability);
    checks.push_back({.what = "sandbox",
                      .health = allowed ? Health::kWeak : Health::kFailed,
                      .detail = absl::StrCat("no ", name, ": ", state.reason),
                      .remedy = absl::StrCat(state.advice, "; or --without-sandbox ", name)});
  }
  checks.push_back(
      {.what = "sandbox",
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
  sample.ParseFromString(GoldenKernel().sample(0, executor));
  if (sample.time_ns() > 0) return sample;
  return absl::InternalError(absl::StrCat("the golden kernel: ", sample.detail()));
}

// The golden kernel goes the way of a candidate, so that it shows whether that way works.
Check examine_worker(const CpuSet& cpus) {
  const absl::StatusOr<pb::GoldenSample> sample = run_golden(cpus);
  if (!sample.ok()) return check_of("measuring", sample.status());
  Check check{
      .what = "measuring",
      .detail = absl::StrFormat("the golden kernel takes %.3f ms, %.1f%% between its fastest and slowest run",
                                static_cast<double>(sample->time_ns()) * 1e-6, 100 * sample->spread())};
  if (sample->spread() <= kSpreadTolerance) return check;
  check.health = Health::kWeak;
  check.remedy = "other programs share these CPUs, or their clock changes: end them, or offer other CPUs";
  return check;
}

}  // namespace

std::vector<Check> examine(const DeviceAgent& config, const std::string& state_folder) {
  std::vector<Check> checks;
  examine_tracker(config, checks);
  const absl::StatusOr<std::vector<Offer>> offers = offers_of(config, allowed_cpus(), state_folder);
  if (!offers.ok()) {
    checks.push_back(check_of("device", offers.status()));
    return checks;
  }
  checks.push_back(examine_cpus(*offers));
  checks.push_back(examine_governor(*offers));
  size_t slots = 0;
  for (const Offer& offer : *offers) {
    slots += offer.slots.size();
    checks.push_back(examine_disk(offer.state_dir, uint64_t{config.cache_mib()} << 20));
    if (offer.listen) checks.push_back(check_of("listen", examine_listen(offer, !config.tls().empty())));
  }
  checks.push_back(examine_memory(slots));
  if (const absl::Status status = examine_sandbox(config, checks); !status.ok())
    checks.push_back(check_of("sandbox", status));
  checks.push_back(examine_worker(offers->front().slots.front()));
  return checks;
}

}  // namespace tf::agent
