#include "tuner/service/daemon.h"

#include <grpcpp/impl/service_type.h>

#include "base/files/file.h"
#include "base/status.h"
#include "database/stores/open_store.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/bearer_tokens.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/server.h"
#include "rpc/identity/membership.h"
#include "tuner/report/report.h"
#include "tuner/service/grpc/services.h"
#include "tuner/service/jobs/model_files.h"

namespace tf::service {

// In order of construction; destroyed the other way round, so that nothing outlives what it uses.
struct Daemon::Parts {
  std::unique_ptr<database::Store> store;
  std::unique_ptr<JobExecutor> executor;
  std::unique_ptr<ModelFiles> models;
  std::unique_ptr<JobQueue> queue;
  std::unique_ptr<grpc::Service> tuner_service;
  std::unique_ptr<grpc::Service> records_service;
  std::unique_ptr<report::Report> report;
  std::unique_ptr<grpc::Service> reports_service;
  std::unique_ptr<rpc::BearerTokens> tokens;  // secured only
  std::unique_ptr<grpc::Service> token_service;
  std::unique_ptr<rpc::AuditLog> audit;  // this and the next two: secured only
  std::unique_ptr<rpc::CallGuard> guard;
  std::unique_ptr<rpc::MembershipKeeper> keeper;
  std::unique_ptr<rpc::Server> server;
};

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::start(const DaemonOptions& options,
                                                      const MakeExecutor& make_executor) {
  TF_RETURN_IF_ERROR(rpc::require_protection(options.listen, "--listen", options.credentials));
  TF_RETURN_IF_ERROR(rpc::check_bindable(options.listen, "--listen"));  // before it makes a database
  auto parts = std::make_unique<Parts>();
  TF_ASSIGN_OR_RETURN(parts->store, database::open_store(options.database_path));
  TF_ASSIGN_OR_RETURN(parts->executor, make_executor(*parts->store));
  parts->models = std::make_unique<ModelFiles>(options.database_path);
  TF_ASSIGN_OR_RETURN(const std::vector<database::Job> jobs, parts->store->jobs());
  parts->models->take_over(jobs);
  JobQueueOptions queue = options.queue;
  queue.on_end = [&models = *parts->models](const database::Job& job) { models.end_use(job); };
  TF_ASSIGN_OR_RETURN(parts->queue, JobQueue::start(*parts->store, *parts->executor, std::move(queue)));
  parts->tuner_service =
      make_tuner_service(*parts->queue, *parts->models, options.most_model_bytes, *options.queue.clock);
  parts->records_service = make_records_service(*parts->store);
  parts->report = std::make_unique<report::Report>(*parts->store, options.show_builder);
  parts->report->load();
  parts->reports_service = make_reports_service(*parts->report);
  if (options.credentials) {
    TF_ASSIGN_OR_RETURN(parts->audit,
                        rpc::AuditLog::open(companion_of(options.database_path, ".audit.jsonl")));
    parts->guard = std::make_unique<rpc::CallGuard>(rpc::real_wall_clock(), parts->audit.get());
    TF_ASSIGN_OR_RETURN(parts->tokens,
                        rpc::BearerTokens::open(companion_of(options.database_path, ".tokens")));
    parts->keeper = std::make_unique<rpc::MembershipKeeper>(
        options.credentials, options.tracker,
        rpc::KeeperOptions{
            .revoked =
                [&guard = *parts->guard, &tokens = *parts->tokens](const std::set<std::string>& serials) {
                  guard.set_revoked(serials);
                  tokens.set_revoked(serials);
                },
            .ended = options.on_membership_end});
  }
  parts->token_service = make_token_service(parts->tokens.get());
  TF_ASSIGN_OR_RETURN(
      parts->server,
      rpc::Server::start(options.listen,
                         {parts->tuner_service.get(), parts->records_service.get(),
                          parts->reports_service.get(), parts->token_service.get()},
                         {options.credentials, parts->guard.get()}, {.most_threads = options.most_threads}));
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() {
  stop();
}

const rpc::Endpoint& Daemon::endpoint() const {
  return parts_->server->endpoint();
}

std::shared_ptr<grpc::Channel> Daemon::in_process_channel() {
  return parts_->server->in_process_channel();
}

rpc::CallGuard* Daemon::guard() {
  return parts_->guard.get();
}

rpc::BearerTokens* Daemon::tokens() {
  return parts_->tokens.get();
}

std::vector<rpc::MetricFamily> Daemon::metrics() {
  return {rpc::by_label(rpc::gauge("tunefarm_tuner_jobs",
                                   "jobs by state: queued, running, paused, done, failed or cancelled", 0),
                        "state", parts_->queue->count_by_state())};
}

void Daemon::stop() {
  parts_->queue->drain();
  // Watchers have seen the last state by now or will ask again.
  parts_->server->stop(absl::Seconds(1));
}

}  // namespace tf::service
