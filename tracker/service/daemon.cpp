#include "tracker/service/daemon.h"

#include <grpcpp/impl/codegen/service_type.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/server.h"
#include "rpc/identity/host_names.h"
#include "rpc/transfer/artifact_store.h"
#include "tracker/ca/member_service.h"
#include "tracker/ca/own_certificate.h"
#include "tracker/farm_threads.h"
#include "tracker/service/metrics.h"
#include "tracker/service/services.h"
#include "tracker/state_store.h"

namespace tf::tracker {

namespace {

// Its own services take none of them: what is left is gRPC's reflection.
constexpr int kThreads = 16;

// What a secured tracker has besides: in order of construction, as below.
struct Security {
  std::unique_ptr<Members> members;
  std::unique_ptr<rpc::AuditLog> audit;
  std::unique_ptr<OwnCertificate> own;
  std::unique_ptr<rpc::CallGuard> guard;
  std::unique_ptr<grpc::Service> service;
};

// Names and addresses under which it answers.
absl::StatusOr<std::vector<std::string>> own_hosts(const DaemonOptions& options) {
  std::vector<std::string> hosts = rpc::machine_hosts();
  const auto add = [&](const std::string& host) {
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  };
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) add(host);
  const absl::StatusOr<std::string> listen = rpc::canonical_host(options.listen.host);
  if (listen.ok() && !rpc::is_many_machines(*listen)) add(*listen);  // 0.0.0.0 is not the name of anything
  for (const std::string& host : options.advertise) {
    const absl::StatusOr<std::string> canonical = rpc::canonical_host(host);
    if (!canonical.ok())
      return absl::InvalidArgumentError(absl::StrCat("--advertise: ", canonical.status().message()));
    add(*canonical);
  }
  return hosts;
}

absl::Status open(const DaemonOptions& options, rpc::CallPool& calls, rpc::CallPool& joins,
                  Security& security) {
  const std::string& folder = options.ca_folder;
  MembersOptions members = options.members;
  TF_ASSIGN_OR_RETURN(members.tracker_hosts, own_hosts(options));
  const std::vector<std::string> hosts = members.tracker_hosts;
  TF_ASSIGN_OR_RETURN(security.members, Members::open(folder, rpc::real_wall_clock(), std::move(members)));
  TF_ASSIGN_OR_RETURN(security.audit, rpc::AuditLog::open(folder + "/audit.jsonl"));
  TF_ASSIGN_OR_RETURN(security.own, OwnCertificate::open(*security.members, folder + "/tracker", hosts,
                                                         rpc::real_wall_clock()));
  security.guard = std::make_unique<rpc::CallGuard>(rpc::real_wall_clock(), security.audit.get());
  security.guard->set_revoked(security.members->revocations().serials);
  security.service = make_member_service(*security.members, *security.audit, calls, joins);
  return absl::OkStatus();
}

}  // namespace

// In order of construction; destroyed from the last to the first.
struct Daemon::Parts {
  // End after the server and before what they use.
  rpc::CallPool calls{{.what = "operators' and members' calls", .threads = 4, .most_waiting = 256}};
  rpc::CallPool joins{{.what = "joins", .threads = 1, .most_waiting = 32}};
  rpc::CallPool transfers{{.what = "transfers of artifacts", .threads = 4, .most_waiting = 1024}};
  Security security;
  std::unique_ptr<StateStore> state;
  std::unique_ptr<rpc::ArtifactStore> artifacts;
  std::unique_ptr<PowerCycler> power_cycler;
  std::unique_ptr<Farm> farm;
  std::unique_ptr<grpc::Service> agents;
  std::unique_ptr<grpc::Service> tuners;
  std::unique_ptr<grpc::Service> operators;
  std::unique_ptr<FarmThreads> threads;
  std::unique_ptr<rpc::Server> server;
};

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() {
  parts_->server->stop(absl::ZeroDuration());
  parts_->calls.finish();  // their threads may still end calls of the server's
  parts_->joins.finish();
  parts_->transfers.finish();
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  if (options.ca_folder.empty()) TF_RETURN_IF_ERROR(rpc::require_loopback(options.listen, "--listen"));
  auto parts = std::make_unique<Parts>();
  if (!options.ca_folder.empty())
    TF_RETURN_IF_ERROR(open(options, parts->calls, parts->joins, parts->security));
  TF_ASSIGN_OR_RETURN(parts->state, StateStore::open(options.state_path));
  TF_ASSIGN_OR_RETURN(
      parts->artifacts,
      rpc::ArtifactStore::open(companion_of(options.state_path, ".artifacts"), options.artifact_bytes));
  TF_ASSIGN_OR_RETURN(parts->farm, Farm::open(rpc::real_clock(), *parts->state, options.farm));
  if (!options.power_cycle.command.empty()) {
    parts->power_cycler = std::make_unique<PowerCycler>(rpc::real_clock(), options.power_cycle);
    parts->farm->on_help_needed(
        [cycler = parts->power_cycler.get()](const std::string& device_id, const std::string& reason) {
          cycler->request(device_id, reason);
        });
  }
  if (parts->security.members) {
    // Leases first: who holds one hears on its stream why that ends, before the guard cancels all else.
    parts->security.members->on_revoked(
        [&farm = *parts->farm, &guard = *parts->security.guard](std::set<std::string> serials) {
          farm.set_revoked(serials);
          guard.set_revoked(std::move(serials));
        });
    parts->farm->set_revoked(parts->security.members->revocations().serials);
  }
  parts->agents = make_agent_service(*parts->farm, *parts->artifacts, parts->transfers);
  parts->tuners = make_tuner_service(*parts->farm, *parts->artifacts, parts->transfers);
  parts->operators = make_operator_service(*parts->farm, parts->calls);
  parts->threads = std::make_unique<FarmThreads>(*parts->farm, rpc::real_clock());
  std::vector<grpc::Service*> services = {parts->agents.get(), parts->tuners.get(), parts->operators.get()};
  rpc::ServerSecurity secured;
  if (parts->security.own) {
    services.push_back(parts->security.service.get());
    secured = {parts->security.own->credentials(), parts->security.guard.get()};
  }
  TF_ASSIGN_OR_RETURN(parts->server,
                      rpc::Server::start(options.listen, services, secured, {.most_threads = kThreads}));
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

const rpc::Endpoint& Daemon::endpoint() const {
  return parts_->server->endpoint();
}

std::vector<rpc::MetricFamily> Daemon::metrics() {
  return metrics_of(parts_->farm->counts());
}

void Daemon::stop() {
  parts_->server->stop(absl::ZeroDuration());
}

}  // namespace tf::tracker
