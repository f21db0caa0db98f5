#pragma once
// Owns: telling the log when a tuner's tracker is away, and when it is back, whether or not any job needs it
// meanwhile. Does not know: jobs, leases.

#include <memory>
#include <mutex>
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
  // May take some seconds while the tracker is away.
  ~TrackerWatch();

 private:
  void watch();
  void wait_while_connected();
  bool is_over();
  void tell_away(const std::string& trouble);
  void tell_back();

  const rpc::Endpoint tracker_;
  const bool secured_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::string told_;  // why it is away; empty: it is not
  std::mutex mutex_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace tf::service
