#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "device_agent/agent/artifact_fetcher.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/stepped_call.h"
#include "rpc/transfer.h"

namespace tf::agent {

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
  rpc::SteppedCall call;
  const std::stop_callback cancel(end, [&call] { call.context().TryCancel(); });
  pb::FetchArtifactRequest request;
  request.set_digest(digest.hex());
  grpc::Status finished;
  const auto reader = stub->AsyncFetchArtifact(&call.context(), request, call.queue(), call.tag());
  std::optional<rpc::ArtifactStore::Memory> memory;
  rpc::Assembler assembler;
  absl::Status added;
  pb::ArtifactChunk chunk;
  const auto next = [&] {
    reader->Read(&chunk, call.tag());
    return call.step();
  };
  const auto add = [&]() -> absl::Status {
    if (!memory) {
      TF_ASSIGN_OR_RETURN(rpc::ArtifactStore::Memory taken, cache_->take_memory(chunk.size_bytes()));
      memory.emplace(std::move(taken));
    }
    return assembler.add({chunk.digest(), chunk.size_bytes(), chunk.content()});
  };
  const bool began = call.step();
  while (began && added.ok() && next()) added = add();
  if (!added.ok()) call.context().TryCancel();
  reader->Finish(&finished, call.tag());
  call.step();
  const absl::Status status = call.ended(finished);
  TF_RETURN_IF_ERROR(added);
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
