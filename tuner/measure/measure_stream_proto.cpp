#include "tuner/measure/measure_stream_proto.h"

#include <utility>

#include "base/failpoint.h"
#include "tuner/measure/measure_messages_proto.h"

namespace tf::measure {

namespace pb = tunefarm::farm::v1;

void MeasureStream::begin(const std::shared_ptr<grpc::Channel>& channel) {
  stream = pb::Tuners::NewStub(channel)->Measure(&context);
}

void MeasureStream::say_hello(const LeasedDevice& lease) {
  stream->Write(hello(lease));
}

void MeasureStream::send(uint64_t sequence, const pb::Trial& trial) {
  killpoint("tuner.trial.sending");
  write(assignment(sequence, trial));
}

void MeasureStream::acknowledge(uint64_t sequence) {
  {
    const std::scoped_lock lock(noting_);
    durable_.insert(sequence);
  }
  const std::scoped_lock lock(writing);
  std::set<uint64_t> all;
  {
    const std::scoped_lock noting(noting_);
    all = std::exchange(durable_, {});
  }
  // Whoever was first here took ours with his.
  if (!all.empty() && !closed) stream->Write(acknowledgement(all));
}

size_t MeasureStream::unsaid() {
  const std::scoped_lock lock(noting_);
  return durable_.size();
}

}  // namespace tf::measure
