#pragma once
// Owns: how many connections there may be, in all and of one address, and which of them goes when another
// needs its place. Does not know: sockets, HTTP.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "rpc/clock.h"

namespace tf::web {

struct ConnectionLimits {
  size_t in_all = 512;
  size_t of_each = 64;  // address but for loopback, where all may come from one browser, proxy or script
};

// Thread-safe.
class Connections {
 public:
  using Id = uint64_t;
  explicit Connections(ConnectionLimits limits, const rpc::Clock& clock = rpc::real_clock())
      : limits_(limits), clock_(clock) {}

  // Nothing: too many. Where all places are taken, the connection goes that has waited longest for its peer:
  // whoever only holds connections open keeps nobody out. `abort` ends the connection; it must only post.
  std::optional<Id> enter(const std::string& address, bool is_loopback, std::function<void()> abort);
  // It waits for its peer, or does no longer.
  void set_waiting(Id id, bool waits);
  void leave(Id id);
  size_t count() const;
  void abort_all();

 private:
  struct Entry {
    std::string address;
    std::function<void()> abort;
    std::optional<rpc::Instant> waits_since;
  };
  bool make_place();  // mutex_ is held

  const ConnectionLimits limits_;
  const rpc::Clock& clock_;
  mutable std::mutex mutex_;
  Id last_ = 0;
  std::map<Id, Entry> entries_;
  std::map<std::string, size_t> of_each_;
};

}  // namespace tf::web
