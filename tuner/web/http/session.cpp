#include "tuner/web/http/session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "tuner/web/http/answer_text.h"

namespace tf::web {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::buffer_body>;

constexpr size_t kReadAtOnce = 16 << 10;
// A body that nobody wanted is read to its end if that is near, so that the connection can go on.
constexpr uint64_t kMostSkippedBytes = 64 << 10;
// Of a body, beyond the gap that it may have: whoever sends single bytes holds a connection no longer.
constexpr double kLeastBodyBytesPerS = 1024;
// Of parts that are small, so that each line of a stream is no packet of its own.
constexpr size_t kMostBufferedBytes = 16 << 10;

absl::Status malformed(const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("this is not a request of HTTP/1.1: ", why));
}

class HttpSession final : public Session, public Exchange, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::unique_ptr<Transport> transport, Ends ends, Handler& handler, const SessionLimits& limits,
              SessionEvents events)
      : transport_(std::move(transport)),
        ends_(std::move(ends)),
        handler_(handler),
        limits_(limits),
        events_(std::move(events)) {}

  asio::awaitable<void> run() override {
    const std::shared_ptr<HttpSession> self = shared_from_this();
    const bool open = co_await transport_->open(limits_.handshake);
    if (!open) co_return;
    absl::Duration patience = limits_.header;  // whoever connects wants something
    for (;;) {
      const bool again = co_await serve_one(patience);
      if (!again) break;
      patience = limits_.idle;
    }
    on_gone_ = nullptr;
    events_.waits(true);
    if (!aborted_) co_await transport_->close();
  }

  void abort() override {
    asio::post(transport_->executor(), [self = shared_from_this()] {
      if (std::exchange(self->aborted_, true)) return;
      self->transport_->abort();
      self->tell_gone();
    });
  }

  // Exchange.
  asio::any_io_executor executor() override { return transport_->executor(); }
  const RequestHead& head() const override { return head_; }
  std::optional<uint64_t> body_bytes() const override {
    if (parser_->is_done()) return 0;
    const auto announced = parser_->content_length();
    return announced ? std::optional<uint64_t>(*announced) : std::nullopt;
  }

  asio::awaitable<absl::StatusOr<size_t>> read_body(char* into, size_t most) override {
    for (bool needs_more = false; !parser_->is_done();) {
      if (needs_more || received_.empty()) {
        const bool welcome = co_await welcome_body();
        const bool came = welcome && co_await receive_body();
        if (!came) {
          broken_ = true;
          co_return absl::DeadlineExceededError(
              "the body ended before all of it had come, or came too slowly");
        }
      }
      const size_t before = received_.size();
      auto& body = parser_->get().body();
      body.data = into;
      body.size = most;
      body.more = true;
      const absl::Status parsed = parse();
      if (!parsed.ok()) co_return parsed;
      const size_t bytes = most - body.size;
      if (bytes > 0) co_return bytes;
      needs_more = received_.size() == before;  // as of half a chunk's header
    }
    co_return size_t{0};
  }

  asio::awaitable<bool> answer(Answer answer) override {
    told(answer.status);
    events_.waits(true);
    const bool skipped = co_await skip_body();
    events_.waits(false);
    if (!skipped) keep_alive_ = false;
    const bool with_body = head_.method != "HEAD";
    std::string text = answer_head(answer, {.keep_alive = keep_alive_, .length = answer.body.size()});
    // One packet, mostly.
    if (with_body && answer.body.size() <= kMostBufferedBytes) {
      text.append(answer.body);
      co_return co_await write(text);
    }
    const bool written = co_await write(text);
    if (!written || !with_body) co_return written;
    co_return co_await write(answer.body);
  }

  asio::awaitable<bool> begin_parts(Answer head) override {
    told(head.status);
    keep_alive_ = false;
    chunked_ = !is_old_;
    asio::co_spawn(
        executor(),
        [self = shared_from_this()]() -> asio::awaitable<void> {
          co_await self->transport_->until_heard();  // there is nothing more to say: it has gone
          self->tell_gone();
        },
        asio::detached);
    const std::string text = answer_head(head, {.keep_alive = false, .chunked = chunked_});
    const bool written = co_await write(text);
    co_return written&& head_.method != "HEAD";  // which wants no more
  }

  asio::awaitable<bool> part(std::string_view bytes) override {
    if (!chunked_) co_return co_await write(bytes);
    std::string chunk = absl::StrCat(absl::Hex(bytes.size()), "\r\n");
    chunk.append(bytes);
    chunk.append("\r\n");
    co_return co_await write(chunk);
  }

  asio::awaitable<bool> end_parts() override {
    if (!chunked_) co_return true;
    co_return co_await write("0\r\n\r\n");
  }

  void when_gone(std::function<void()> callback) override {
    on_gone_ = std::move(callback);
    if (gone_) tell_gone();
  }

 private:
  // What the query and the fields say is nobody else's: models' names, tokens.
  void told(int status) {
    answered_ = true;
    events_.answered(status);
    spdlog::debug(absl::StrCat("HTTP ", printable(head_.method), " ", printable(head_.path), " of ",
                               ends_.address, ": ", status));
  }

  void tell_gone() {
    gone_ = true;
    if (const auto callback = std::exchange(on_gone_, nullptr)) callback();
  }

  asio::awaitable<bool> write(std::string_view bytes) {
    events_.waits(true);
    const bool written = co_await transport_->write(bytes, limits_.write_stall);
    events_.waits(false);
    if (!written) broken_ = true;
    co_return written;
  }

  asio::awaitable<bool> receive(absl::Duration at_most) {
    const size_t before = received_.size();
    received_.resize(before + kReadAtOnce);
    const size_t bytes = co_await transport_->read(received_.data() + before, kReadAtOnce, at_most);
    received_.resize(before + bytes);
    co_return bytes > 0;
  }

  // What the server itself takes of time does not count.
  asio::awaitable<bool> receive_body() {
    const auto began = std::chrono::steady_clock::now();
    const absl::Duration may_wait =
        limits_.body_gap + absl::Seconds(body_received_ / kLeastBodyBytesPerS) - body_waited_;
    const size_t before = received_.size();
    events_.waits(true);
    const bool came = co_await receive(std::clamp(may_wait, absl::ZeroDuration(), limits_.body_gap));
    events_.waits(false);
    body_waited_ += absl::FromChrono(std::chrono::steady_clock::now() - began);
    body_received_ += static_cast<double>(received_.size() - before);
    co_return came;
  }

  // Gives the parser what has come.
  absl::Status parse() {
    boost::system::error_code error;
    const size_t used = parser_->put(asio::buffer(received_), error);
    received_.erase(0, used);
    if (used == 0 && received_.size() > limits_.header_bytes + kReadAtOnce) {
      broken_ = true;
      return malformed("a line of it has no end");
    }
    if (!error || error == http::error::need_more || error == http::error::need_buffer)
      return absl::OkStatus();
    broken_ = true;
    if (error == http::error::header_limit)
      return absl::ResourceExhaustedError(
          absl::StrCat("the header has more than ", limits_.header_bytes, " bytes"));
    return malformed(error.message());
  }

  // To a caller that asks first whether its body is wanted.
  asio::awaitable<bool> welcome_body() {
    if (std::exchange(welcomed_, true) || is_old_ ||
        !absl::EqualsIgnoreCase(std::string(head_.field("expect")), "100-continue"))
      co_return true;
    co_return co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  asio::awaitable<bool> skip_body() {
    if (broken_) co_return false;
    if (parser_->is_done()) co_return true;
    const bool waits = !welcomed_ && !head_.field("expect").empty();
    if (waits || body_bytes().value_or(kMostSkippedBytes + 1) > kMostSkippedBytes) co_return false;
    char rest[4096];
    for (uint64_t skipped = 0; skipped <= kMostSkippedBytes;) {
      const absl::StatusOr<size_t> bytes = co_await read_body(rest, sizeof rest);
      if (!bytes.ok()) co_return false;
      if (*bytes == 0) co_return true;
      skipped += *bytes;
    }
    co_return false;
  }

  // Whether another request may follow. `patience` is for the first byte of this one.
  asio::awaitable<bool> serve_one(absl::Duration patience) {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(limits_.header_bytes));
    parser_->body_limit(boost::none);  // each call has its own
    parser_->eager(false);
    answered_ = welcomed_ = chunked_ = false;
    body_received_ = 0;
    body_waited_ = absl::ZeroDuration();
    head_ = {};
    events_.waits(true);
    absl::StatusOr<bool> came = co_await read_head(patience);
    events_.waits(false);
    if (came.ok() && !*came) co_return false;
    if (came.ok()) came = take_head();
    if (!came.ok()) {
      keep_alive_ = false;
      co_await answer_error(*this, came.status(), absl::IsResourceExhausted(came.status()) ? 431 : 400);
      co_return false;
    }
    co_await handler_.serve(*this);
    on_gone_ = nullptr;
    if (!answered_) {
      keep_alive_ = false;
      co_await answer_error(*this, absl::InternalError("nothing has answered this request"));
    }
    co_return keep_alive_ && !broken_ && !aborted_;
  }

  // False: nothing came, or not all of it in time.
  asio::awaitable<absl::StatusOr<bool>> read_head(absl::Duration patience) {
    if (received_.empty()) {
      const bool came = co_await receive(patience);
      if (!came) co_return false;
    }
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limits_.header);
    for (;;) {
      const absl::Status parsed = parse();
      if (!parsed.ok()) co_return parsed;
      if (parser_->is_header_done()) co_return true;
      const absl::Duration left = absl::FromChrono(until - std::chrono::steady_clock::now());
      if (left <= absl::ZeroDuration()) co_return false;
      const bool came = co_await receive(left);
      if (!came) co_return false;
    }
  }

  absl::StatusOr<bool> take_head() {
    const auto& message = parser_->get();
    is_old_ = message.version() == 10;
    if (message.version() != 11 && !is_old_) return malformed("it is of another version");
    keep_alive_ = message.keep_alive();
    head_.method = std::string(message.method_string());
    // Who takes a body for shorter or longer than a proxy before it lets requests be smuggled in.
    const auto coding = message.find(http::field::transfer_encoding);
    if (coding != message.end() &&
        (is_old_ || !absl::EqualsIgnoreCase(std::string(coding->value()), "chunked")))
      return malformed("its Transfer-Encoding is not `chunked`");
    const std::string target(message.target());
    if (!target.starts_with('/')) return malformed("its target is not a path");
    const size_t mark = target.find('?');
    head_.path = target.substr(0, mark);
    if (mark != std::string::npos) head_.query = target.substr(mark + 1);
    for (const auto& field : message) {
      std::string& value = head_.fields[absl::AsciiStrToLower(std::string(field.name_string()))];
      if (!value.empty()) value.append(", ");
      value.append(field.value());
    }
    head_.address = ends_.address;
    head_.local_address = ends_.local_address;
    head_.encrypted = ends_.encrypted;
    return true;
  }

  const std::unique_ptr<Transport> transport_;
  const Ends ends_;
  Handler& handler_;
  const SessionLimits limits_;
  const SessionEvents events_;
  std::optional<Parser> parser_;
  std::string received_;  // and not parsed yet
  RequestHead head_;
  std::function<void()> on_gone_;
  double body_received_ = 0;  // bytes of this request's body, with what frames them
  absl::Duration body_waited_;
  bool is_old_ = false;  // HTTP/1.0
  bool keep_alive_ = false;
  bool answered_ = false;
  bool welcomed_ = false;  // the body
  bool chunked_ = false;
  bool broken_ = false;  // nothing more can be read
  bool gone_ = false;
  bool aborted_ = false;
};

}  // namespace

std::shared_ptr<Session> make_session(std::unique_ptr<Transport> transport, Ends ends, Handler& handler,
                                      const SessionLimits& limits, SessionEvents events) {
  return std::make_shared<HttpSession>(std::move(transport), std::move(ends), handler, limits,
                                       std::move(events));
}

}  // namespace tf::web
