#include "tracker/daemon.h"

#include <grpcpp/impl/codegen/service_type.h>

#include "base/status.h"
#include "rpc/artifact_store.h"
#include "rpc/server.h"
#include "tracker/expiry_timer.h"
#include "tracker/services.h"
#include "tracker/state_store.h"

namespace tf::tracker {

// In order of construction; destroyed from the last to the first.
struct Daemon::Parts {
  std::unique_ptr<StateStore> state;
  std::unique_ptr<rpc::ArtifactStore> artifacts;
  std::unique_ptr<PowerCycler> power_cycler;
  std::unique_ptr<Farm> farm;
  std::unique_ptr<grpc::Service> agents;
  std::unique_ptr<grpc::Service> tuners;
  std::unique_ptr<grpc::Service> operators;
  std::unique_ptr<ExpiryTimer> timer;
  std::unique_ptr<rpc::Server> server;
};

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() = default;

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  TF_RETURN_IF_ERROR(rpc::require_loopback(options.listen, "--listen"));
  auto parts = std::make_unique<Parts>();
  TF_ASSIGN_OR_RETURN(parts->state, StateStore::open(options.state_path));
  TF_ASSIGN_OR_RETURN(parts->artifacts,
                      rpc::ArtifactStore::open(options.state_path + ".artifacts", options.artifact_bytes));
  TF_ASSIGN_OR_RETURN(parts->farm, Farm::open(rpc::real_clock(), *parts->state, options.farm));
  if (!options.power_cycle.command.empty()) {
    parts->power_cycler = std::make_unique<PowerCycler>(rpc::real_clock(), options.power_cycle);
    parts->farm->on_distress(
        [cycler = parts->power_cycler.get()](const std::string& device_id, const std::string& reason) {
          cycler->request(device_id, reason);
        });
  }
  parts->agents = make_agent_service(*parts->farm, *parts->artifacts);
  parts->tuners = make_tuner_service(*parts->farm, *parts->artifacts);
  parts->operators = make_operator_service(*parts->farm);
  parts->timer = std::make_unique<ExpiryTimer>(*parts->farm, rpc::real_clock());
  TF_ASSIGN_OR_RETURN(
      parts->server,
      rpc::Server::start(options.listen, {parts->agents.get(), parts->tuners.get(), parts->operators.get()}));
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

const rpc::Endpoint& Daemon::endpoint() const {
  return parts_->server->endpoint();
}

void Daemon::stop() {
  parts_->server->stop(absl::ZeroDuration());
}

}  // namespace tf::tracker
