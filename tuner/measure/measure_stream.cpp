#include "tuner/measure/measure_stream.h"

#include "base/testing/failpoint.h"
#include "rpc/connection/protocol.h"

namespace tf::measure {

namespace pb = tunefarm::farm::v1;

void MeasureStream::begin(const std::shared_ptr<grpc::Channel>& channel) {
  stream = pb::Tuners::NewStub(channel)->Measure(&context);
}

void MeasureStream::say_hello(const LeasedDevice& lease) {
  pb::MeasureRequest message;
  message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
  message.mutable_hello()->mutable_lease()->set_lease_id(lease.lease_id);
  message.mutable_hello()->mutable_lease()->set_epoch(lease.epoch);
  stream->Write(message);
}

void MeasureStream::send(uint64_t sequence, const pb::Trial& trial) {
  killpoint("tuner.trial.sending");
  pb::MeasureRequest message;
  message.mutable_assignment()->set_sequence(sequence);
  *message.mutable_assignment()->mutable_trial() = trial;
  write(message);
}

void MeasureStream::acknowledge(uint64_t sequence) {
  {
    const std::scoped_lock lock(noting_);
    durable_.insert(sequence);
  }
  const std::scoped_lock lock(writing);
  pb::MeasureRequest message;
  auto& sequences = *message.mutable_acknowledgement()->mutable_sequences();
  {
    const std::scoped_lock noting(noting_);
    sequences.Add(durable_.begin(), durable_.end());
    durable_.clear();
  }
  // Whoever was first here took ours with his.
  if (!sequences.empty() && !closed) stream->Write(message);
}

size_t MeasureStream::unsaid() {
  const std::scoped_lock lock(noting_);
  return durable_.size();
}

}  // namespace tf::measure
