#pragma once
// Owns: calls of any method of a daemon with any bytes, over a connection. Does not know: what methods do.

#include <memory>
#include <string_view>

#include "rpc/connection/endpoint.h"

namespace tf::fuzz {

class Caller {
 public:
  explicit Caller(const rpc::Endpoint& daemon);
  ~Caller();

  // An input as call_input.h has it. Returns when the call has ended, a twentieth of a second later at most.
  // Every reply is a message of the method's kind: what a daemon says, its callers can read.
  void call(std::string_view input);
  // Whether the daemon answers an empty request of that method.
  bool answers(std::string_view method);

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace tf::fuzz
