#pragma once
// Owns: HTTP/1.1 on one connection: reads requests within their limits, has them answered one after the
// other, writes the answers. Does not know: what is served, who else is connected.

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "tuner/web/http/exchange.h"
#include "tuner/web/http/transport.h"

namespace tf::web {

struct SessionLimits {
  size_t header_bytes = 16 << 10;
  absl::Duration handshake = absl::Seconds(10);
  absl::Duration header = absl::Seconds(10);       // from its first byte to its last
  absl::Duration idle = absl::Seconds(60);         // between an answer and the next request
  absl::Duration body_gap = absl::Seconds(20);     // between two parts of a body
  absl::Duration write_stall = absl::Seconds(20);  // for each 64 KiB of an answer
};

// Where the connection goes from and to, without ports.
struct Ends {
  std::string address;
  std::string local_address;
  bool encrypted = false;
};

// Called on the session's executor.
struct SessionEvents {
  // Whether it waits for its peer: for a request, more of a body, or that an answer is taken. Such a session may
  // be ended for another.
  std::function<void(bool)> waits;
  std::function<void(int)> answered;  // with this status
};

class Session {
 public:
  virtual ~Session() = default;
  // Serves until the connection ends.
  virtual asio::awaitable<void> run() = 0;
  // Ends it at once. On any thread.
  virtual void abort() = 0;
};

// The handler outlives the session.
std::shared_ptr<Session> make_session(std::unique_ptr<Transport> transport, Ends ends, Handler& handler,
                                      const SessionLimits& limits, SessionEvents events);

}  // namespace tf::web
