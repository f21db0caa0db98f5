#include <grpcpp/grpcpp.h>

#include "base/status.h"
#include "database/record_json.h"
#include "database/remote/records_wire.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "tuner/service/grpc/services.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

// Gathers lines into messages well below the limit of a message.
class LineWriter {
 public:
  explicit LineWriter(grpc::ServerWriter<pb::RecordLines>& writer) : writer_(writer) {}

  absl::Status add(std::string line) {
    bytes_ += line.size();
    batch_.add_lines(std::move(line));
    return bytes_ < kBatchBytes ? absl::OkStatus() : flush();
  }

  absl::Status flush() {
    if (batch_.lines().empty()) return absl::OkStatus();
    if (!writer_.Write(batch_)) return absl::CancelledError("the reader has gone");
    batch_.clear_lines();
    bytes_ = 0;
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kBatchBytes = 256 << 10;
  grpc::ServerWriter<pb::RecordLines>& writer_;
  pb::RecordLines batch_;
  size_t bytes_ = 0;
};

class RecordsService final : public pb::Records::Service {
 public:
  explicit RecordsService(database::Records& records) : records_(records) {}

  grpc::Status Best(grpc::ServerContext*, const pb::BestRequest* request, pb::RecordLines* reply) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(database::BestQuery query, remote::from_proto(*request));
      TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> top, records_.top(query, request->limit()));
      for (const database::Measurement& measurement : top) reply->add_lines(to_json(measurement));
      return absl::OkStatus();
    }());
  }

  grpc::Status FindWorkload(grpc::ServerContext*, const pb::FindWorkloadRequest* request,
                            pb::RecordLines* reply) override {
    absl::StatusOr<database::Workload> workload = records_.find_workload(request->key_or_prefix());
    if (workload.ok()) reply->add_lines(to_json(*workload));
    return rpc::to_grpc(workload.status());
  }

  grpc::Status ListWorkloads(grpc::ServerContext*, const pb::ListWorkloadsRequest*,
                             grpc::ServerWriter<pb::RecordLines>* writer) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(std::vector<database::Workload> workloads, records_.workloads());
      LineWriter lines(*writer);
      for (const database::Workload& workload : workloads) TF_RETURN_IF_ERROR(lines.add(to_json(workload)));
      return lines.flush();
    }());
  }

  grpc::Status ListProblems(grpc::ServerContext*, const pb::ListProblemsRequest*,
                            grpc::ServerWriter<pb::KernelKeys>* writer) override {
    absl::StatusOr<std::vector<tensor::KernelKey>> problems = records_.problems();
    if (!problems.ok()) return rpc::to_grpc(problems.status());
    constexpr int kBatch = 256;
    pb::KernelKeys list;
    for (const tensor::KernelKey& problem : *problems) {
      *list.add_kernels() = remote::to_proto(problem);
      if (list.kernels_size() < kBatch) continue;
      if (!writer->Write(list)) return grpc::Status::CANCELLED;
      list.clear_kernels();
    }
    writer->Write(list);
    return grpc::Status::OK;
  }

  grpc::Status Scan(grpc::ServerContext*, const pb::ScanRequest* request,
                    grpc::ServerWriter<pb::RecordLines>* writer) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(database::Filter filter, remote::from_proto(*request));
      LineWriter lines(*writer);
      TF_RETURN_IF_ERROR(records_.scan(
          filter, [&](const database::Measurement& measurement) { return lines.add(to_json(measurement)); }));
      return lines.flush();
    }());
  }

  grpc::Status FindRecord(grpc::ServerContext*, const pb::FindRecordRequest* request,
                          pb::RecordLines* reply) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(Digest digest, Digest::from_hex(request->digest()));
      TF_ASSIGN_OR_RETURN(database::Measurement measurement, records_.find_record(digest));
      reply->add_lines(to_json(measurement));
      return absl::OkStatus();
    }());
  }

  grpc::Status IsMeasured(grpc::ServerContext*, const pb::IsMeasuredRequest* request,
                          pb::IsMeasuredReply* reply) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(tensor::KernelKey problem, remote::from_proto(request->kernel()));
      TF_ASSIGN_OR_RETURN(bool measured, records_.is_measured(problem, request->schedule()));
      reply->set_measured(measured);
      return absl::OkStatus();
    }());
  }

  grpc::Status ListVerdicts(grpc::ServerContext*, const pb::ListVerdictsRequest*,
                            grpc::ServerWriter<pb::RecordLines>* writer) override {
    return rpc::to_grpc([&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const std::vector<database::NetworkVerdict> verdicts, records_.verdicts());
      LineWriter lines(*writer);
      for (const database::NetworkVerdict& verdict : verdicts)
        TF_RETURN_IF_ERROR(lines.add(to_json(verdict)));
      return lines.flush();
    }());
  }

 private:
  database::Records& records_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_records_service(database::Records& records) {
  return std::make_unique<RecordsService>(records);
}

}  // namespace tf::service
