#pragma once
// Owns: telling the log when a tuner's tracker is away, and when it is back, whether or not any job needs it
// meanwhile. Does not know: jobs, leases.

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "rpc/connection/endpoint.h"

namespace grpc {
class Channel;
}

namespace tf::rpc {
class Credentials;
}

namespace tf::service {

// Holds a connection of its own, on which it asks for nothing. A tracker that freezes is away after 15 s, one
// that ends after one.
class TrackerWatch {
 public:
  TrackerWatch(rpc::Endpoint tracker, const std::shared_ptr<rpc::Credentials>& credentials);

 private:
  void watch(const std::stop_token& end);
  void wait_while_connected(const std::stop_token& end);
  void tell_away(const std::string& trouble);
  void tell_back();

  const rpc::Endpoint tracker_;
  const bool secured_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::string told_;     // why it is away; empty: it is not
  std::jthread thread_;  // whose end may take some seconds while the tracker is away
};

}  // namespace tf::service
