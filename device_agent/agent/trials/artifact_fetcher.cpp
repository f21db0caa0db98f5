#include "device_agent/agent/trials/artifact_fetcher.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"

namespace tf::agent {
namespace {

// For the tracker to begin, and for its answer: about as long as a peer that answers no ping is believed in.
constexpr absl::Duration kGracePeriod = absl::Seconds(15);

}  // namespace

ArtifactFetcher::ArtifactFetcher(std::shared_ptr<grpc::Channel> channel,
                                 std::unique_ptr<rpc::ArtifactStore> cache)
    : channel_(std::move(channel)), cache_(std::move(cache)) {}

absl::StatusOr<std::string> ArtifactFetcher::get(const std::string& name, const std::stop_token& end) {
  TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(name));
  if (absl::StatusOr<std::string> cached = cache_->get(digest); cached.ok()) return cached;
  const std::optional<rpc::TransferTurns::Turn> turn = turns_.wait(name, end);
  if (!turn) return absl::CancelledError("the artifact is no longer needed");
  if (absl::StatusOr<std::string> cached = cache_->get(digest); cached.ok()) return cached;
  return download(digest, end);
}

void ArtifactFetcher::prefetch(const std::string& name, const std::stop_token& end) {
  const absl::StatusOr<Digest> digest = Digest::from_hex(name);
  // Whatever goes wrong here goes wrong again in get(), where it counts.
  if (digest.ok() && !cache_->contains(*digest)) get(name, end).status().IgnoreError();
}

absl::StatusOr<std::string> ArtifactFetcher::download(const Digest& digest, const std::stop_token& end) {
  namespace pb = tunefarm::farm::v1;
  const auto stub = pb::Agents::NewStub(channel_);
  grpc::ClientContext context;
  const auto cancel_call = [&context] { context.TryCancel(); };
  const std::stop_callback cancel(end, cancel_call);
  auto transfer = cache_->transfers().begin(cancel_call, kGracePeriod);
  pb::FetchArtifactRequest request;
  request.set_digest(digest.hex());
  transfer.wait();
  const auto reader = stub->FetchArtifact(&context, request);
  rpc::Assembler assembler;
  pb::ArtifactChunk chunk;
  auto add = [&, is_first = true]() mutable -> absl::Status {
    TF_RETURN_IF_ERROR(transfer.moved(chunk.content().size()));
    if (std::exchange(is_first, false)) TF_RETURN_IF_ERROR(transfer.take(chunk.size_bytes()));
    TF_RETURN_IF_ERROR(assembler.add({chunk.digest(), chunk.size_bytes(), chunk.content()}));
    transfer.wait();
    return absl::OkStatus();
  };
  absl::Status added;
  while (added.ok() && reader->Read(&chunk)) added = add();
  if (!added.ok()) context.TryCancel();
  const absl::Status status = rpc::from_grpc(reader->Finish());
  TF_RETURN_IF_ERROR(added);
  TF_RETURN_IF_ERROR(transfer.moved(0));
  TF_RETURN_IF_ERROR(status);
  TF_ASSIGN_OR_RETURN(rpc::Received received, std::move(assembler).finish());
  if (received.digest != digest) {
    return absl::UnavailableError(
        absl::StrCat("the tracker sent ", received.digest.hex(), " for ", digest.hex()));
  }
  cache_->put(received).IgnoreError();  // a full disk costs the cache, not the measurement
  return std::move(received.bytes);
}

}  // namespace tf::agent
