#include <grpcpp/grpcpp.h>

#include <utility>

#include "proto/tune/v1/report.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "tuner/report/report.h"
#include "tuner/service/grpc/services.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

template <typename Reply>
grpc::Status send(absl::StatusOr<Reply> answer, Reply* reply) {
  if (answer.ok()) *reply = *std::move(answer);
  return rpc::to_grpc(answer.status());
}

class ReportsService final : public pb::Reports::Service {
 public:
  explicit ReportsService(report::Report& report) : report_(report) {}

  grpc::Status DescribeJob(grpc::ServerContext*, const pb::DescribeJobRequest* request,
                           pb::JobCurves* reply) override {
    return send(report_.describe_job(*request), reply);
  }
  grpc::Status ListKernels(grpc::ServerContext*, const pb::ListKernelsRequest* request,
                           pb::ListKernelsReply* reply) override {
    return send(report_.list_kernels(*request), reply);
  }
  grpc::Status DescribeKernel(grpc::ServerContext*, const pb::DescribeKernelRequest* request,
                              pb::KernelReport* reply) override {
    return send(report_.describe_kernel(*request), reply);
  }
  grpc::Status ListCandidates(grpc::ServerContext*, const pb::ListCandidatesRequest* request,
                              pb::Candidates* reply) override {
    return send(report_.list_candidates(*request), reply);
  }
  grpc::Status DescribeCandidate(grpc::ServerContext*, const pb::DescribeCandidateRequest* request,
                                 pb::Candidate* reply) override {
    return send(report_.describe_candidate(*request), reply);
  }
  grpc::Status ShowProgram(grpc::ServerContext*, const pb::ShowProgramRequest* request,
                           pb::Program* reply) override {
    return send(report_.show_program(*request), reply);
  }
  grpc::Status DescribeNetwork(grpc::ServerContext*, const pb::DescribeNetworkRequest* request,
                               pb::NetworkReport* reply) override {
    return send(report_.describe_network(*request), reply);
  }

 private:
  report::Report& report_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_reports_service(report::Report& report) {
  return std::make_unique<ReportsService>(report);
}

}  // namespace tf::service
