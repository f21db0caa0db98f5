#include "device_agent/agent/direct_service.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "device_agent/agent/slots/slot_runner.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/clock.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/protocol.h"
#include "rpc/transfer/artifact_store.h"
#include "rpc/transfer/flow_limits.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

// The holder may hear of its lease before we do, but not long before: few wait at once, whoever makes up how
// many names.
constexpr absl::Duration kLeaseWait = absl::Seconds(1);
constexpr absl::Duration kLeasePoll = absl::Milliseconds(10);
constexpr int kMostWaiting = 32;
// How long the last write of a stream may take before it counts as one that its holder blocks.
constexpr absl::Duration kLastWrite = absl::Seconds(1);

LeaseRef from_proto(const pb::LeaseName& name) {
  return {name.lease_id(), name.epoch()};
}

// One Measure stream; its writes come from the slot's thread and from its own.
class DirectStream final : public DirectLink {
 public:
  using Stream = grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>;
  DirectStream(grpc::ServerContext& context, Stream& stream) : context_(&context), stream_(&stream) {}

  bool write(const std::string& bytes) override {
    pb::MeasureReply reply;
    reply.ParseFromString(bytes);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !writing_; });
    if (ended_) return false;
    writing_ = true;
    lock.unlock();
    const bool written = stream_->Write(reply);
    lock.lock();
    writing_ = false;
    changed_.notify_all();
    return written;
  }

  void cancel() override {
    const std::scoped_lock lock(mutex_);
    if (context_) context_->TryCancel();
  }

  // Context and stream go away after this. Whoever is cancelled does not hear why the stream ends: only a
  // holder that does not read is.
  void end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    const auto is_quiet = [this] { return !writing_; };
    if (!changed_.wait_for(lock, absl::ToChronoMilliseconds(kLastWrite), is_quiet)) {
      context_->TryCancel();
      changed_.wait(lock, is_quiet);
    }
    context_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::ServerContext* context_;  // null once it is gone
  Stream* const stream_;
  bool writing_ = false;  // without the mutex, which cancel() needs
  bool ended_ = false;
};

class DirectService final : public pb::Tuners::Service {
 public:
  DirectService(std::vector<SlotRunner*> slots, rpc::ArtifactStore& cache, const rpc::Clock& clock)
      : slots_(std::move(slots)), cache_(cache), clock_(clock) {}

  grpc::Status FindMissingArtifacts(grpc::ServerContext* context,
                                    const pb::FindMissingArtifactsRequest* request,
                                    pb::FindMissingArtifactsReply* reply) override {
    if (const auto slot = slot_of(*context, request->lease()); !slot.ok()) return rpc::to_grpc(slot.status());
    const auto missing = cache_.missing({request->digests().begin(), request->digests().end()});
    if (missing.ok()) reply->mutable_missing()->Add(missing->begin(), missing->end());
    return rpc::to_grpc(missing.status());
  }

  grpc::Status UploadArtifact(grpc::ServerContext* context, grpc::ServerReader<pb::ArtifactChunk>* reader,
                              pb::UploadArtifactReply*) override {
    return rpc::to_grpc(receive(*context, *reader));
  }

  grpc::Status Measure(grpc::ServerContext* context, DirectStream::Stream* stream) override {
    pb::MeasureRequest message;
    auto hello = cache_.transfers().begin([context] { context->TryCancel(); }, rpc::kHelloGracePeriod);
    hello.wait();
    const bool came = stream->Read(&message);
    if (const absl::Status in_time = hello.finish(); !in_time.ok()) return rpc::to_grpc(in_time);
    if (!came || !message.has_hello()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a Measure stream begins with one hello and has no other"};
    }
    const absl::Status version =
        rpc::check_protocol("the tuner", message.hello().protocol_version(), "this agent");
    if (!version.ok()) return rpc::to_grpc(version);
    const absl::StatusOr<SlotRunner*> slot = slot_of(*context, message.hello().lease());
    if (!slot.ok()) return rpc::to_grpc(slot.status());
    const LeaseRef lease = from_proto(message.hello().lease());
    const auto link = std::make_shared<DirectStream>(*context, *stream);
    absl::Status served = (*slot)->open_direct(lease, link);
    if (served.ok()) served = serve(**slot, lease, *link, *stream);
    (*slot)->close_direct(lease, link.get());
    link->end();
    return rpc::to_grpc(served);
  }

 private:
  static absl::Status serve(SlotRunner& slot, const LeaseRef& lease, const DirectStream& link,
                            DirectStream::Stream& stream) {
    pb::MeasureRequest message;
    while (stream.Read(&message)) {
      if (message.has_assignment()) {
        const pb::Assignment& assignment = message.assignment();
        if (assignment.sequence() == 0) return absl::InvalidArgumentError("sequences begin at 1");
        std::string trial = assignment.trial().SerializeAsString();
        TF_RETURN_IF_ERROR(rpc::check_trial_bytes(trial.size()));
        if (!slot.submit_direct(lease, &link, {assignment.sequence(), std::move(trial)}))
          return absl::AbortedError("continue through the tracker");
      } else if (message.has_acknowledgement()) {
        const auto& sequences = message.acknowledgement().sequences();
        slot.acknowledge_direct(lease, {sequences.begin(), sequences.end()});
      } else {
        return absl::InvalidArgumentError("a MeasureRequest that is neither a trial nor an acknowledgement");
      }
    }
    return absl::OkStatus();
  }

  absl::Status receive(const grpc::ServerContext& context, grpc::ServerReader<pb::ArtifactChunk>& reader) {
    const std::optional<rpc::Identity> caller = rpc::caller(context);
    const std::string whose = caller ? caller->name : "";
    rpc::Assembler assembler;
    auto transfer = cache_.transfers().begin([&context] { context.TryCancel(); });
    pb::ArtifactChunk chunk;
    for (bool is_first = true;; is_first = false) {
      transfer.wait();
      const bool came = reader.Read(&chunk);
      TF_RETURN_IF_ERROR(transfer.moved(came ? chunk.content().size() : 0));
      if (!came) break;
      if (is_first) {
        TF_RETURN_IF_ERROR(slot_of(context, chunk.lease()).status());
        TF_RETURN_IF_ERROR(transfer.take(chunk.size_bytes(), whose));
      }
      TF_RETURN_IF_ERROR(assembler.add({chunk.digest(), chunk.size_bytes(), chunk.content()}));
    }
    TF_ASSIGN_OR_RETURN(const rpc::Received received, std::move(assembler).finish());
    return cache_.put(received, whose);
  }

  struct Serving {
    SlotRunner* slot = nullptr;
    std::string user;
  };

  // The slot that serves this lease by the tracker's word, to who holds it by the same word.
  absl::StatusOr<SlotRunner*> slot_of(const grpc::ServerContext& context, const pb::LeaseName& name) {
    const LeaseRef lease = from_proto(name);
    std::optional<Serving> serving = find(lease);
    if (!serving) serving = wait_for(lease);
    if (!serving) {
      return absl::UnavailableError(absl::StrCat("the tracker has not announced to this agent a lease ",
                                                 printable(lease.id), " with epoch ", lease.epoch,
                                                 ": continue through the tracker"));
    }
    const std::optional<rpc::Identity> caller = rpc::caller(context);  // nothing: plain text
    if (!caller || caller->name == serving->user) return serving->slot;
    return absl::PermissionDeniedError(
        absl::StrCat("the lease ", lease.id, " is not held by ", caller->name));
  }

  std::optional<Serving> find(const LeaseRef& lease) const {
    for (SlotRunner* slot : slots_) {
      if (std::optional<std::string> user = slot->user_of(lease)) return Serving{slot, *std::move(user)};
    }
    return std::nullopt;
  }

  std::optional<Serving> wait_for(const LeaseRef& lease) {
    std::optional<Serving> found;
    if (++waiting_ <= kMostWaiting) {
      const rpc::Instant deadline = clock_.now() + kLeaseWait;
      while (!(found = find(lease)) && clock_.now() < deadline)
        std::this_thread::sleep_for(absl::ToChronoMilliseconds(kLeasePoll));
    }
    --waiting_;
    return found;
  }

  const std::vector<SlotRunner*> slots_;
  rpc::ArtifactStore& cache_;
  const rpc::Clock& clock_;
  std::atomic<int> waiting_ = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> make_direct_service(std::vector<SlotRunner*> slots, rpc::ArtifactStore& cache,
                                                   const rpc::Clock& clock) {
  return std::make_unique<DirectService>(std::move(slots), cache, clock);
}

}  // namespace tf::agent
