#pragma once
// Owns: one request and its answer, as those who answer see them. Does not know: connections, what is served.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::web {

namespace asio = boost::asio;

struct RequestHead {
  std::string method;                                      // "GET"
  std::string path;                                        // as it was sent, up to the '?'
  std::string query;                                       // after it, as it was sent
  std::map<std::string, std::string, std::less<>> fields;  // names in lower case; repeated ones with ", "
  std::string address;                                     // of the caller, without its port
  std::string local_address;                               // that the caller has reached, likewise
  bool encrypted = false;

  // Empty: there is no such field.
  std::string_view field(std::string_view name) const;
};

struct Answer {
  int status = 200;
  std::string type;       // of the content; empty: there is none
  std::string_view body;  // outlives the answering
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// Used by one coroutine on its executor.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual asio::any_io_executor executor() = 0;
  virtual const RequestHead& head() const = 0;
  // Of the body as announced; nothing: it comes in chunks.
  virtual std::optional<uint64_t> body_bytes() const = 0;

  // The next part of the body; 0 at its end. INVALID_ARGUMENT: it is malformed. DEADLINE_EXCEEDED: it ended
  // too early or came too slowly; there is no use in an answer.
  virtual asio::awaitable<absl::StatusOr<size_t>> read_body(char* into, size_t most) = 0;

  // False: the caller has gone. One of the two ways, once.
  virtual asio::awaitable<bool> answer(Answer answer) = 0;
  virtual asio::awaitable<bool> begin_parts(Answer head) = 0;
  // At least one byte. At most a few KiB of it are buffered: it returns once the caller has taken the others.
  virtual asio::awaitable<bool> part(std::string_view bytes) = 0;
  virtual asio::awaitable<bool> end_parts() = 0;

  // Called, at most once, when the caller has gone or the server stops, while parts are answered or a call is
  // waited for. Null: no longer.
  virtual void when_gone(std::function<void()> callback) = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Answers; from several threads at once. What it does not answer is an internal error.
  virtual asio::awaitable<void> serve(Exchange& exchange) = 0;
};

// The whole body. RESOURCE_EXHAUSTED: it has more bytes than `most`.
asio::awaitable<absl::StatusOr<std::string>> whole_body(Exchange& exchange, size_t most);

// {"code":"NOT_FOUND","message":"…"}, under the status that its code stands for, or another.
asio::awaitable<bool> answer_error(Exchange& exchange, absl::Status error, int status = 0);
std::string error_json(const absl::Status& error);
// As gRPC's gateways map them.
int http_status_of(absl::StatusCode code);

}  // namespace tf::web
