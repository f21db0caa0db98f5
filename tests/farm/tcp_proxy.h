#pragma once
// Owns: a bad line: a TCP proxy that delays what it carries, is cut, loses one end of its connections, or
// goes silent without closing anything, so that both ends believe in a connection that is dead. Does not
// know: what it carries.

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "rpc/connection/endpoint.h"

namespace tf::farm_test {

// Of a line: who connected, and who was connected to.
enum class LineEnd : uint8_t { kNear, kFar };

// Thread-safe. Its connections end with it.
class TcpProxy {
 public:
  // Listens on a free port of loopback; each connection is continued to `target`.
  explicit TcpProxy(const rpc::Endpoint& target);
  ~TcpProxy();
  rpc::Endpoint endpoint() const;

  // Everything from now on arrives so much later, each way; order is kept.
  void set_delay(absl::Duration delay);
  // Silent: connections that there are, and new ones, stay open and carry nothing. What was sent meanwhile is
  // delivered after the end of the silence.
  void set_silent(bool silent);
  // The connections that there are become half-open: only this end believes in them still. It hears nothing
  // more, and what it says is lost. New connections are whole.
  void leave_half_open(LineEnd believer);
  // For good: all connections end, and new ones at once.
  void cut();

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace tf::farm_test
