#include "tests/bench/farm/artifact_calls.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <utility>

#include "base/check.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/transfer/transfer.h"

namespace tf::farm_load {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kGracePeriod = absl::Seconds(60);

class Upload final : public grpc::ClientWriteReactor<pb::ArtifactChunk> {
 public:
  Upload(pb::Tuners::Stub& stub, const std::string& digest, const std::string& bytes, Transferred done)
      : done_(std::move(done)) {
    const absl::StatusOr<Digest> named = Digest::from_hex(digest);
    TF_CHECK(named.ok()) << named.status();
    rpc::send_chunks(*named, bytes, [this](const rpc::Chunk& chunk) {
      pb::ArtifactChunk& message = chunks_.emplace_back();
      message.set_digest(chunk.digest.data(), chunk.digest.size());
      message.set_size_bytes(chunk.size_bytes);
      message.set_content(chunk.content.data(), chunk.content.size());
      return true;
    });
    rpc::set_deadline(context_, kGracePeriod);
    stub.async()->UploadArtifact(&context_, &reply_, this);
    write_next();
    StartCall();
  }

 private:
  void write_next() {
    if (chunks_.size() == 1) return StartWriteLast(&chunks_.front(), grpc::WriteOptions());
    StartWrite(&chunks_.front());
  }
  void OnWriteDone(bool ok) override {
    chunks_.pop_front();
    if (ok && !chunks_.empty()) write_next();
  }
  void OnDone(const grpc::Status& status) override {
    done_(rpc::from_grpc(status));
    delete this;
  }

  grpc::ClientContext context_;
  std::deque<pb::ArtifactChunk> chunks_;
  pb::UploadArtifactReply reply_;
  const Transferred done_;
};

class Fetch final : public grpc::ClientReadReactor<pb::ArtifactChunk> {
 public:
  Fetch(pb::Agents::Stub& stub, const std::string& digest, Transferred done) : done_(std::move(done)) {
    request_.set_digest(digest);
    rpc::set_deadline(context_, kGracePeriod);
    stub.async()->FetchArtifact(&context_, &request_, this);
    StartRead(&chunk_);
    StartCall();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    taken_.Update(artifact_.add(
        {.digest = chunk_.digest(), .size_bytes = chunk_.size_bytes(), .content = chunk_.content()}));
    StartRead(&chunk_);
  }
  void OnDone(const grpc::Status& status) override {
    absl::Status fetched = rpc::from_grpc(status);
    fetched.Update(taken_);
    if (fetched.ok()) fetched = std::move(artifact_).finish().status();
    done_(fetched);
    delete this;
  }

  grpc::ClientContext context_;
  pb::FetchArtifactRequest request_;
  pb::ArtifactChunk chunk_;
  rpc::Assembler artifact_;
  absl::Status taken_;
  const Transferred done_;
};

}  // namespace

void upload(pb::Tuners::Stub& stub, const std::string& digest, const std::string& bytes, Transferred done) {
  new Upload(stub, digest, bytes, std::move(done));  // deletes itself
}

void fetch(pb::Agents::Stub& stub, const std::string& digest, Transferred done) {
  new Fetch(stub, digest, std::move(done));  // deletes itself
}

}  // namespace tf::farm_load
