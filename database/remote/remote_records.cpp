#include "database/remote/remote_records.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/remote/records_wire.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/endpoint.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/membership.h"

namespace tf::remote {
namespace {

namespace pb = tunefarm::tune::v1;

// A best record is one row by an index; what takes longer than this is not coming.
constexpr absl::Duration kCallTimeout = absl::Seconds(20);

class RemoteRecords final : public database::Records {
 public:
  RemoteRecords(const rpc::Endpoint& endpoint, const std::shared_ptr<rpc::Credentials>& credentials)
      : endpoint_(endpoint),
        secured_(credentials != nullptr),
        stub_(pb::Records::NewStub(rpc::make_channel(endpoint, credentials, rpc::Role::kTuner))) {}

  absl::StatusOr<std::vector<database::Measurement>> top(const database::BestQuery& query,
                                                         size_t limit) override {
    if (limit == 0) return std::vector<database::Measurement>();
    TF_ASSIGN_OR_RETURN(pb::RecordLines reply,
                        call<pb::RecordLines>(&pb::Records::Stub::Best, to_proto(query, limit)));
    return records_of<database::Measurement>(reply);
  }

  absl::StatusOr<database::Workload> find_workload(const std::string& key_or_prefix) override {
    pb::FindWorkloadRequest request;
    request.set_key_or_prefix(key_or_prefix);
    TF_ASSIGN_OR_RETURN(pb::RecordLines reply,
                        call<pb::RecordLines>(&pb::Records::Stub::FindWorkload, request));
    TF_ASSIGN_OR_RETURN(std::vector<database::Workload> found, records_of<database::Workload>(reply));
    if (found.size() != 1) return absl::DataLossError("the tuner replied without a workload");
    return std::move(found.front());
  }

  absl::StatusOr<std::vector<database::Workload>> workloads() override {
    return read_all<database::Workload>(&pb::Records::Stub::ListWorkloads, pb::ListWorkloadsRequest());
  }

  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override {
    std::vector<tensor::KernelKey> out;
    auto take = [&](const pb::KernelKeys& list) -> absl::Status {
      for (const pb::KernelKey& kernel : list.kernels()) {
        TF_ASSIGN_OR_RETURN(tensor::KernelKey parsed, from_proto(kernel));
        out.push_back(std::move(parsed));
      }
      return absl::OkStatus();
    };
    TF_RETURN_IF_ERROR(
        read_stream<pb::KernelKeys>(&pb::Records::Stub::ListProblems, pb::ListProblemsRequest(), take));
    return out;
  }

  absl::Status scan(const database::Filter& filter, const database::Visitor& visit) override {
    const auto visit_all = [&](const pb::RecordLines& lines) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const auto measurements, records_of<database::Measurement>(lines));
      for (const database::Measurement& each : measurements) TF_RETURN_IF_ERROR(visit(each));
      return absl::OkStatus();
    };
    return read_stream<pb::RecordLines>(&pb::Records::Stub::Scan, to_proto(filter), visit_all);
  }

  absl::StatusOr<database::Measurement> find_record(const Digest& digest) override {
    pb::FindRecordRequest request;
    request.set_digest(digest.hex());
    TF_ASSIGN_OR_RETURN(pb::RecordLines reply,
                        call<pb::RecordLines>(&pb::Records::Stub::FindRecord, request));
    TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> found, records_of<database::Measurement>(reply));
    if (found.size() != 1 || record_digest(found.front()) != digest)
      return absl::DataLossError("the tuner replied with a different record");
    return std::move(found.front());
  }

  absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) override {
    pb::IsMeasuredRequest request;
    *request.mutable_kernel() = to_proto(problem);
    request.set_schedule(schedule);
    TF_ASSIGN_OR_RETURN(pb::IsMeasuredReply reply,
                        call<pb::IsMeasuredReply>(&pb::Records::Stub::IsMeasured, request));
    return reply.measured();
  }

  // A tuner that does not know them has none.
  absl::StatusOr<std::vector<database::NetworkVerdict>> verdicts() override {
    auto listed =
        read_all<database::NetworkVerdict>(&pb::Records::Stub::ListVerdicts, pb::ListVerdictsRequest());
    if (absl::IsUnimplemented(listed.status())) return std::vector<database::NetworkVerdict>();
    return listed;
  }

 private:
  absl::Status status_of(const grpc::Status& status) const {
    return rpc::from_grpc(status, "tuner", endpoint_, secured_);
  }

  template <typename Reply, typename Method, typename Request>
  absl::StatusOr<Reply> call(Method method, const Request& request) {
    grpc::ClientContext context;
    rpc::set_deadline(context, kCallTimeout);
    Reply reply;
    TF_RETURN_IF_ERROR(status_of((stub_.get()->*method)(&context, request, &reply)));
    return reply;
  }

  // No deadline: an export may be long, and a dead peer is found by keepalive.
  template <typename Message, typename Method, typename Request, typename Take>
  absl::Status read_stream(Method method, const Request& request, const Take& take) {
    grpc::ClientContext context;
    auto reader = (stub_.get()->*method)(&context, request);
    Message message;
    absl::Status taken;
    while (taken.ok() && reader->Read(&message)) taken = take(message);
    if (!taken.ok()) context.TryCancel();
    const grpc::Status finished = reader->Finish();
    return taken.ok() ? status_of(finished) : taken;
  }

  template <typename Record, typename Method, typename Request>
  absl::StatusOr<std::vector<Record>> read_all(Method method, const Request& request) {
    std::vector<Record> all;
    TF_RETURN_IF_ERROR(
        read_stream<pb::RecordLines>(method, request, [&](const pb::RecordLines& lines) -> absl::Status {
          TF_ASSIGN_OR_RETURN(std::vector<Record> some, records_of<Record>(lines));
          std::ranges::move(some, std::back_inserter(all));
          return absl::OkStatus();
        }));
    return all;
  }

  const rpc::Endpoint endpoint_;
  const bool secured_;
  const std::unique_ptr<pb::Records::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<database::Records>> open_remote_records(const std::string& host_port,
                                                                       const std::string& tls_folder) {
  TF_ASSIGN_OR_RETURN(rpc::Endpoint endpoint, rpc::parse_endpoint(host_port));
  TF_ASSIGN_OR_RETURN(const auto credentials, rpc::credentials_of_command(tls_folder));
  TF_RETURN_IF_ERROR(rpc::require_protection(endpoint, "the tuner of --db,", credentials));
  auto records = std::make_unique<RemoteRecords>(endpoint, credentials);
  // An unknown program is never measured: the answer does not matter, that there is one does.
  tensor::KernelKey nothing;
  TF_RETURN_IF_ERROR(records->is_measured(nothing, "").status());
  return records;
}

const database::StoreScheme kTuner = {
    .name = "tuner",
    .form = "tuner://HOST:PORT (a running tuner)",
    .suffix = nullptr,
    .open_records = [](const std::string& place, const database::ReadOptions& options)
        -> absl::StatusOr<std::unique_ptr<database::Records>> {
      if (place.find(':') == std::string::npos || place.ends_with(':'))
        return with_remedy(absl::StatusCode::kInvalidArgument,
                           absl::StrCat("\"tuner://", place, "\" does not name a tuner"),
                           "write tuner://HOST:PORT", Between::kSemicolon);
      return open_remote_records(place, options.tls_folder);
    },
    .open_store = nullptr,
    .why_only_read = "this command writes a database file, not a tuner's",
    .instead = "give a FILE, or `tuner submit` to that tuner"};

}  // namespace tf::remote
