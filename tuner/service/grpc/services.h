#pragma once
// Owns: the makers of the tuner's gRPC services. Thin: each call is one call of the job queue, the records or
// their report.
// Does not know: how either works.

#include <cstdint>
#include <memory>

#include "database/store.h"
#include "rpc/clock.h"
#include "tuner/service/jobs/job_queue.h"
#include "tuner/service/jobs/model_files.h"

namespace grpc {
class Service;
}

namespace tf::report {
class Report;
}

namespace tf::rpc {
class BearerTokens;
}

namespace tf::service {

// Queue, models, records and report must outlive the services. A larger model is refused, and one that comes
// too slowly, by that clock, is given up (rpc/transfer/transfer_budget.h).
std::unique_ptr<grpc::Service> make_tuner_service(JobQueue& queue, ModelFiles& models,
                                                  uint64_t most_model_bytes, const rpc::Clock& clock);
std::unique_ptr<grpc::Service> make_records_service(database::Records& records);
std::unique_ptr<grpc::Service> make_reports_service(report::Report& report);
// Null: the tuner needs none, and says so.
std::unique_ptr<grpc::Service> make_token_service(rpc::BearerTokens* tokens);

}  // namespace tf::service
