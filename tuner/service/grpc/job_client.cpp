#include "tuner/service/grpc/job_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "proto/tune/v1/tune.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/clock.h"
#include "rpc/connection/busy.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/credentials.h"
#include "rpc/transfer/transfer.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr absl::Duration kSubmitTimeout = absl::Minutes(5);     // a model of some hundred MB, and its import
constexpr absl::Duration kLongestBusyDelay = absl::Seconds(2);  // before the next attempt
constexpr absl::Duration kAwayAfter = absl::Seconds(2);         // of a tuner that is watched

absl::StatusOr<JobUpdate> known(JobUpdate update) {
  if (pb::JobState_IsValid(update.state()) && update.state() != pb::JOB_STATE_UNSPECIFIED) return update;
  return absl::InvalidArgumentError(absl::StrCat("the tuner sent the job state ", update.state(),
                                                 ", which this program does not know; upgrade this program"));
}

class GrpcJobClient final : public JobClient {
 public:
  GrpcJobClient(const rpc::Endpoint& endpoint, const std::shared_ptr<rpc::Credentials>& credentials,
                std::string submitter)
      : endpoint_(endpoint),
        secured_(credentials != nullptr),
        submitter_(std::move(submitter)),
        channel_(rpc::make_channel(endpoint, credentials, rpc::Role::kTuner)),
        stub_(pb::Tuner::NewStub(channel_)) {}

  using JobClient::submit;
  absl::StatusOr<int64_t> submit(const JobSpec& spec, std::string_view model, const BusyWait& wait) override {
    rpc::Backoff backoff(rpc::backoff_seed(), {.longest = kLongestBusyDelay});
    const rpc::Instant began = rpc::real_clock().now();
    for (bool told = false;;) {
      bool busy = false;
      absl::StatusOr<int64_t> id = submit_once(spec, model, busy);
      if (id.ok() || !busy || rpc::real_clock().now() - began >= wait.longest) return id;
      if (!std::exchange(told, true) && wait.begins) wait.begins(id.status());
      absl::SleepFor(backoff.next());
    }
  }
  absl::StatusOr<std::vector<JobUpdate>> list() override {
    std::vector<JobUpdate> out;
    pb::ListJobsRequest request;
    request.set_in_pages(true);
    for (;;) {
      TF_ASSIGN_OR_RETURN(const pb::ListJobsReply page, page_of(request));
      for (const pb::JobUpdate& update : page.jobs()) {
        TF_ASSIGN_OR_RETURN(out.emplace_back(), known(update));
      }
      if (!page.more() || page.jobs().empty()) return out;
      if (out.back().job_id() <= request.after_job_id())
        return absl::InternalError("the tuner's list of jobs does not end; use a tuner of this version");
      request.set_after_job_id(out.back().job_id());
    }
  }

  absl::Status check_answers() override {
    pb::ListJobsRequest request;
    request.set_in_pages(true);
    request.set_after_job_id(std::numeric_limits<int64_t>::max());  // none
    return page_of(request).status();
  }

  absl::StatusOr<JobUpdate> watch(int64_t id, absl::Duration grace_period,
                                  const std::function<bool(const JobUpdate&)>& see,
                                  const std::function<void()>& away) override {
    rpc::Backoff backoff(rpc::backoff_seed(), {.longest = absl::Seconds(1)});
    std::optional<rpc::Instant> lost;  // since when nobody answers: a job may have no news for hours
    bool told = false;
    for (;;) {
      bool heard = false;
      absl::StatusOr<JobUpdate> last = watch_once(id, see, heard);
      // A tuner that was killed comes back with the same jobs.
      if (!absl::IsUnavailable(last.status())) return last;
      if (heard || !lost) {
        lost = rpc::real_clock().now();
        told = false;
        backoff.reset();
      }
      if (rpc::real_clock().now() - *lost >= grace_period) return last;
      absl::SleepFor(backoff.next());
      await_connection(*lost, grace_period, away, told);
    }
  }

  absl::StatusOr<JobUpdate> cancel(int64_t id) override { return change(&pb::Tuner::Stub::CancelJob, id); }
  absl::StatusOr<JobUpdate> pause(int64_t id) override { return change(&pb::Tuner::Stub::PauseJob, id); }
  absl::StatusOr<JobUpdate> resume(int64_t id) override { return change(&pb::Tuner::Stub::ResumeJob, id); }

 private:
  absl::StatusOr<int64_t> submit_once(const JobSpec& spec, std::string_view model, bool& busy) {
    grpc::ClientContext context;
    rpc::set_deadline(context, kSubmitTimeout);
    pb::SubmitReply reply;
    auto writer = stub_->Submit(&context, &reply);
    pb::SubmitRequest request;
    *request.mutable_spec() = spec;
    request.set_submitter(submitter_);
    bool open = writer->Write(request);
    request.clear_submitter();
    open = open && rpc::send_chunks(sha256(model), model, [&](const rpc::Chunk& chunk) {
             pb::ModelChunk* out = request.mutable_chunk();
             out->set_digest(std::string(chunk.digest));
             out->set_size_bytes(chunk.size_bytes);
             out->set_content(chunk.content.data(), chunk.content.size());
             return writer->Write(request);
           });
    if (open) writer->WritesDone();
    // A refusal in the middle of the upload is in the final status.
    const absl::Status taken = status_of(writer->Finish());
    busy = absl::IsUnavailable(taken) && rpc::was_busy(context);
    if (absl::IsCancelled(taken))
      return absl::UnavailableError(
          "the tuner ended the upload, because it is stopping or the upload took too long; submit it again");
    TF_RETURN_IF_ERROR(taken);
    return reply.job_id();
  }

  absl::Status status_of(const grpc::Status& status) const {
    return rpc::from_grpc(status, "tuner", endpoint_, secured_);
  }

  absl::StatusOr<pb::ListJobsReply> page_of(const pb::ListJobsRequest& request) {
    grpc::ClientContext context;
    rpc::set_deadline(context, kCallTimeout);
    pb::ListJobsReply page;
    TF_RETURN_IF_ERROR(status_of(stub_->ListJobs(&context, request, &page)));
    return page;
  }

  absl::StatusOr<JobUpdate> watch_once(int64_t id, const std::function<bool(const JobUpdate&)>& see,
                                       bool& heard) {
    grpc::ClientContext context;
    pb::JobName name;
    name.set_job_id(id);
    auto reader = stub_->WatchJob(&context, name);
    pb::JobUpdate update;
    while (reader->Read(&update)) {
      heard = true;
      absl::StatusOr<JobUpdate> job = known(update);
      const bool stop = !job.ok() || !see(*job);
      if (stop || database::is_final(state_of(*job))) {
        context.TryCancel();
        reader->Finish();  // our own cancellation, or the end: the update says all
        if (job.ok() && stop) return absl::CancelledError("no longer watched");
        return job;
      }
    }
    const grpc::Status finished = reader->Finish();
    // A tuner that is stopping ends its streams without a final state.
    if (finished.ok() || finished.error_code() == grpc::StatusCode::CANCELLED) {
      return absl::UnavailableError("the tuner is stopping; watch the job again after its restart");
    }
    return status_of(finished);
  }

  // Returns once there is a connection, or when `grace_period` is over. To sleep instead would be to wait in
  // vain: in a process that serves nothing, gRPC gets on with a handshake only while a thread waits for
  // something of it, and gives it up after some seconds.
  void await_connection(rpc::Instant lost, absl::Duration grace_period, const std::function<void()>& away,
                        bool& told) {
    for (;;) {
      const absl::Duration gone = rpc::real_clock().now() - lost;
      if (gone >= kAwayAfter && !std::exchange(told, true) && away) away();
      if (gone >= grace_period) return;
      const absl::Duration next = told ? grace_period : std::min(grace_period, kAwayAfter);
      if (rpc::wait_until_connected(*channel_, next - gone + absl::Milliseconds(1))) return;
    }
  }

  template <typename Method>
  absl::StatusOr<JobUpdate> change(Method method, int64_t id) {
    grpc::ClientContext context;
    rpc::set_deadline(context, kCallTimeout);
    pb::JobName name;
    name.set_job_id(id);
    pb::JobUpdate reply;
    TF_RETURN_IF_ERROR(status_of((stub_.get()->*method)(&context, name, &reply)));
    return known(std::move(reply));
  }

  const rpc::Endpoint endpoint_;
  const bool secured_;
  const std::string submitter_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<pb::Tuner::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobClient>> make_job_client(
    const std::string& host_port, const std::shared_ptr<rpc::Credentials>& credentials,
    const std::string& submitter) {
  TF_ASSIGN_OR_RETURN(rpc::Endpoint endpoint, rpc::parse_endpoint(host_port));
  TF_RETURN_IF_ERROR(rpc::require_protection(endpoint, "--server", credentials));
  return std::make_unique<GrpcJobClient>(endpoint, credentials, submitter);
}

}  // namespace tf::service
