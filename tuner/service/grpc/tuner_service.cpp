#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/busy.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"
#include "tuner/service/grpc/services.h"
#include "tuner/service/jobs/job_access.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

pb::JobUpdate to_proto(const JobView& view) {
  pb::JobUpdate out;
  out.set_job_id(view.job.id);
  out.set_state(static_cast<pb::JobState>(view.job.state));  // the numbers are the same
  out.set_detail(view.job.detail);
  out.set_status_code(view.job.status_code);
  if (absl::StatusOr<JobSpec> spec = job_spec_from_json(view.job.options); spec.ok()) {
    *out.mutable_spec() = *spec;
  }
  out.mutable_spec()->set_model_name(view.job.model_name);
  out.set_model_digest(view.job.model_digest);
  out.set_created_unix_ns(view.job.created_unix_ns);
  out.set_started_unix_ns(view.job.started_unix_ns);
  out.set_finished_unix_ns(view.job.finished_unix_ns);
  out.set_trials(view.trials);
  out.set_submitter(view.job.submitter);
  *out.mutable_slots() = {view.slots.begin(), view.slots.end()};
  out.set_unchanged(view.unchanged);
  if (view.progress) *out.mutable_progress() = *view.progress;
  return out;
}

// What a caller may say of itself counts only where nobody shows a certificate.
absl::StatusOr<std::string> submitter_of(const grpc::ServerContext& context, const std::string& told) {
  const std::optional<rpc::Identity> caller = rpc::caller(context);
  if (caller) return caller->text();
  if (!told.empty()) TF_RETURN_IF_ERROR(rpc::check_identity_name(told));
  return told;
}

// Other transfers are in the way: its caller may repeat the call.
absl::Status or_busy(grpc::ServerContext& context, const absl::Status& status) {
  if (absl::IsUnavailable(status)) rpc::tell_busy(context);
  return status;
}

// Before any of it is taken.
absl::Status check_size(uint64_t model_bytes, uint64_t most_bytes) {
  if (model_bytes <= most_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the model has ", (model_bytes >> 20) + (model_bytes % (1 << 20) != 0),
                   " MiB, but this tuner accepts at most ", most_bytes >> 20,
                   "; use `tuner tune`, or raise the tuner's --max-model-mib"));
}

// Models on their way take no more together, however slowly they come; one always finds room.
constexpr uint64_t kMostModelsBytes = uint64_t{1} << 30;
// Of one submitter, from the specification on: each has the tracker asked.
constexpr size_t kMostSubmissionsOfEach = 2;

// A job that runs tells of each of its tasks, perhaps some hundreds; a message holds 4 MiB.
constexpr size_t kPageJobs = 50;

class TunerService final : public pb::Tuner::Service {
 public:
  TunerService(JobQueue& queue, ModelFiles& models, uint64_t most_model_bytes, const rpc::Clock& clock)
      : queue_(queue),
        models_(models),
        most_model_bytes_(most_model_bytes),
        transfers_({.bytes = std::max(kMostModelsBytes, most_model_bytes),
                    .transfers_of_each = kMostSubmissionsOfEach},
                   clock) {}

  grpc::Status Submit(grpc::ServerContext* context, grpc::ServerReader<pb::SubmitRequest>* reader,
                      pb::SubmitReply* reply) override {
    absl::StatusOr<int64_t> id = submit(*context, *reader);
    if (id.ok()) reply->set_job_id(*id);
    return rpc::to_grpc(id.status());
  }

  grpc::Status ListJobs(grpc::ServerContext*, const pb::ListJobsRequest* request,
                        pb::ListJobsReply* reply) override {
    absl::StatusOr<std::vector<JobView>> jobs =
        request->in_pages() ? queue_.list(request->after_job_id(), kPageJobs + 1) : queue_.list();
    if (!jobs.ok()) return rpc::to_grpc(jobs.status());
    if (request->in_pages() && jobs->size() > kPageJobs) {
      jobs->pop_back();
      reply->set_more(true);
    }
    for (const JobView& job : *jobs) *reply->add_jobs() = to_proto(job);
    return grpc::Status::OK;
  }

  grpc::Status WatchJob(grpc::ServerContext* context, const pb::JobName* request,
                        grpc::ServerWriter<pb::JobUpdate>* writer) override {
    absl::StatusOr<JobView> view = queue_.find(request->job_id());
    for (uint64_t sent = 0;;) {
      if (!view.ok()) return rpc::to_grpc(view.status());
      if (view->version != sent && !writer->Write(to_proto(*view))) return grpc::Status::CANCELLED;
      sent = view->version;
      if (database::is_final(view->job.state)) return grpc::Status::OK;
      // Woken early only by news; the timeout is for noticing that the watcher has gone.
      view = queue_.wait_for_change(request->job_id(), sent, absl::Seconds(1));
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
    }
  }

  grpc::Status CancelJob(grpc::ServerContext* context, const pb::JobName* request,
                         pb::JobUpdate* reply) override {
    return change(*context, "cancel", &JobQueue::cancel, *request, reply);
  }
  grpc::Status PauseJob(grpc::ServerContext* context, const pb::JobName* request,
                        pb::JobUpdate* reply) override {
    return change(*context, "pause", &JobQueue::pause, *request, reply);
  }
  grpc::Status ResumeJob(grpc::ServerContext* context, const pb::JobName* request,
                         pb::JobUpdate* reply) override {
    return change(*context, "resume", &JobQueue::resume, *request, reply);
  }

 private:
  using SubmitReader = grpc::ServerReader<pb::SubmitRequest>;

  static absl::StatusOr<bool> read(rpc::TransferBudget::Transfer& transfer, SubmitReader& reader,
                                   pb::SubmitRequest& request) {
    transfer.wait();
    const bool came = reader.Read(&request);
    TF_RETURN_IF_ERROR(transfer.moved(came ? request.ByteSizeLong() : 0));
    return came;
  }

  // The stream of one submission after its first message.
  absl::StatusOr<rpc::Received> receive_model(grpc::ServerContext& context, SubmitReader& reader,
                                              rpc::TransferBudget::Transfer& transfer,
                                              const std::string& submitter) {
    pb::SubmitRequest request;
    rpc::Assembler assembler(most_model_bytes_, rpc::Assembler::Digests::kWhereGiven);
    for (bool is_first = true;; is_first = false) {
      TF_ASSIGN_OR_RETURN(const bool came, read(transfer, reader, request));
      if (!came) break;
      if (!request.has_chunk()) return absl::InvalidArgumentError("a submission must have one specification");
      const pb::ModelChunk& chunk = request.chunk();
      if (is_first) {  // which says how much comes
        TF_RETURN_IF_ERROR(check_size(chunk.size_bytes(), most_model_bytes_));
        TF_RETURN_IF_ERROR(or_busy(context, transfer.take(chunk.size_bytes(), submitter)));
      }
      TF_RETURN_IF_ERROR(assembler.add(
          {.digest = chunk.digest(), .size_bytes = chunk.size_bytes(), .content = chunk.content()}));
    }
    return std::move(assembler).finish();
  }

  absl::StatusOr<int64_t> submit(grpc::ServerContext& context, SubmitReader& reader) {
    auto transfer = transfers_.begin([&context] { context.TryCancel(); });
    pb::SubmitRequest request;
    TF_ASSIGN_OR_RETURN(const bool began, read(transfer, reader, request));
    if (!began || !request.has_spec())
      return absl::InvalidArgumentError("a submission must begin with its specification");
    JobSpec spec = request.spec();
    if (spec.strategy().empty()) spec.set_strategy(default_spec().strategy());
    spec.clear_device_class();  // of an embedded run only
    TF_RETURN_IF_ERROR(check_may_ask(rpc::caller(context), spec.priority()));
    if (spec.device_key().empty())
      return absl::InvalidArgumentError("a job needs the key of a device: --device KEY");
    TF_ASSIGN_OR_RETURN(const std::string submitter, submitter_of(context, request.submitter()));
    TF_RETURN_IF_ERROR(or_busy(context, transfer.take(0, submitter)));
    TF_RETURN_IF_ERROR(queue_.check_submission(submitter, spec));
    TF_ASSIGN_OR_RETURN(const rpc::Received model, receive_model(context, reader, transfer, submitter));
    TF_RETURN_IF_ERROR(frontends::check_data_inside(model.bytes));
    const Digest& digest = model.digest;
    TF_ASSIGN_OR_RETURN(const std::string path, models_.begin_use(digest, model.bytes));
    absl::StatusOr<int64_t> id = queue_.submit({.model_name = spec.model_name(),
                                                .model_digest = digest.hex(),
                                                .model_path = path,
                                                .target = spec.target(),
                                                .device = spec.device_key(),
                                                .submitter = submitter},
                                               spec);
    if (!id.ok()) models_.end_use(digest);  // else the job's end does
    return id;
  }

  using Change = absl::StatusOr<JobView> (JobQueue::*)(int64_t);

  grpc::Status change(const grpc::ServerContext& context, const char* verb, Change change_job,
                      const pb::JobName& request, pb::JobUpdate* reply) {
    absl::StatusOr<JobView> view = queue_.find(request.job_id());
    absl::Status status = view.status();
    if (status.ok()) status = check_may_change(rpc::caller(context), view->job, verb);
    if (status.ok()) {
      view = (queue_.*change_job)(request.job_id());
      status = view.status();
    }
    if (status.ok()) *reply = to_proto(*view);
    return rpc::to_grpc(status);
  }

  JobQueue& queue_;
  ModelFiles& models_;
  const uint64_t most_model_bytes_;
  rpc::TransferBudget transfers_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_tuner_service(JobQueue& queue, ModelFiles& models,
                                                  uint64_t most_model_bytes, const rpc::Clock& clock) {
  return std::make_unique<TunerService>(queue, models, most_model_bytes, clock);
}

}  // namespace tf::service
