#pragma once
// Owns: a tuner's end of one Measure stream: what it says there, and how much of it in one message. Does not
// know: leases, who waits for replies.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/client_stream.h"
#include "tuner/measure/farm_runner.h"

namespace tf::measure {

// Begun once, then thread-safe but for reading, which one thread does.
struct MeasureStream
    : rpc::ClientStream<tunefarm::farm::v1::MeasureRequest, tunefarm::farm::v1::MeasureReply> {
  // To a tracker or an agent. Nothing is said yet.
  void begin(const std::shared_ptr<grpc::Channel>& channel);
  // The first message. `writing` is held, so that nobody speaks before it.
  void say_hello(const LeasedDevice& lease);

  void send(uint64_t sequence, const tunefarm::farm::v1::Trial& trial);
  // The reply is durable here. What comes up while another message is being written goes together, in one.
  // Written when it returns, or lost with the stream.
  void acknowledge(uint64_t sequence);
  // Acknowledgements that wait for the message before theirs.
  size_t unsaid();

 private:
  std::mutex noting_;
  std::set<uint64_t> durable_;  // unsaid
};

}  // namespace tf::measure
