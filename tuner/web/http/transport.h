#pragma once
// Owns: the bytes of one connection, with a limit on each wait. Does not know: HTTP, who listens.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/time/time.h"

namespace tf::web {

namespace asio = boost::asio;

// Used on its executor only, by one coroutine that reads or writes, and one that waits for the peer to go.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual asio::any_io_executor executor() = 0;
  // Whether the handshake has succeeded within `at_most`; of plain text at once.
  virtual asio::awaitable<bool> open(absl::Duration at_most) = 0;
  // The next bytes, at most `most` of them; 0: the peer has ended, or sent nothing for so long.
  virtual asio::awaitable<size_t> read(char* into, size_t most, absl::Duration at_most) = 0;
  // Whether all was taken; `stall` is how long the peer may take for each 64 KiB of it.
  virtual asio::awaitable<bool> write(std::string_view bytes, absl::Duration stall) = 0;
  // Returns once the peer has sent something or has gone.
  virtual asio::awaitable<void> until_heard() = 0;
  // Ends the connection so that the peer can still read what was written.
  virtual asio::awaitable<void> close() = 0;
  // Ends it at once; whoever waits for it hears that the peer has ended.
  virtual void abort() = 0;
};

std::unique_ptr<Transport> plain_transport(asio::ip::tcp::socket socket);
// Keeps the context.
std::unique_ptr<Transport> tls_transport(asio::ip::tcp::socket socket,
                                         std::shared_ptr<asio::ssl::context> context);

}  // namespace tf::web
