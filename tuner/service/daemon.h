#pragma once
// Owns: a whole served tuner in this process: store, job queue, services, server. `tuner serve` and tests run
// it. Does not know: how jobs are executed; main brings the executor.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/metrics/metric.h"
#include "rpc/transfer/transfer.h"
#include "tuner/service/jobs/job_queue.h"

namespace grpc {
class Channel;
}

namespace tf::driver {
class Builder;
}
namespace tf::rpc {
class BearerTokens;
class CallGuard;
class Credentials;
}  // namespace tf::rpc

namespace tf::service {

struct DaemonOptions {
  rpc::Endpoint listen;
  rpc::Endpoint tracker;                          // that says what is revoked; used with credentials only
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text, on loopback only
  // Called once, from a thread of the daemon, when the farm takes these credentials no more: UNAUTHENTICATED.
  std::function<void(const absl::Status&)> on_membership_end = nullptr;
  std::string database_path;  // models are kept in the folder database_path + ".models"
  // Makes the programs that people look at, apart from those of jobs; outlives the daemon. Null: none are shown.
  driver::Builder* show_builder = nullptr;
  uint64_t most_model_bytes = rpc::kMaxArtifactBytes;
  // A call takes one, a watch as long as it lasts; beyond them it is RESOURCE_EXHAUSTED. More than people
  // watch jobs, and few enough that however many do, there are threads and memory for the jobs themselves.
  int most_threads = 1024;
  JobQueueOptions queue;  // whose clock is the daemon's
};

// Makes the executor, given the store that the daemon has opened.
using MakeExecutor = std::function<absl::StatusOr<std::unique_ptr<JobExecutor>>(database::Store& store)>;

class Daemon {
 public:
  // Opens the database, takes the port, and goes on with the jobs of an earlier process. INVALID_ARGUMENT:
  // plain text beyond loopback. ALREADY_EXISTS: port in use. open_sqlite_store's errors.
  static absl::StatusOr<std::unique_ptr<Daemon>> start(const DaemonOptions& options,
                                                       const MakeExecutor& make_executor);
  ~Daemon();
  // With the real port.
  const rpc::Endpoint& endpoint() const;
  // To its services from within this process (rpc::Server::in_process_channel).
  std::shared_ptr<grpc::Channel> in_process_channel();
  // Who may call what, and the tokens of HTTP; null in plain text.
  rpc::CallGuard* guard();
  rpc::BearerTokens* tokens();
  // What it shows Prometheus of its jobs, read through their lock. Thread-safe.
  std::vector<rpc::MetricFamily> metrics();
  // What is being measured is finished and recorded, the jobs are left queued for the next process, all calls
  // end.
  void stop();

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tf::service
