#include "tests/farm/tcp_proxy.h"

#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <thread>
#include <utility>

namespace tf::farm_test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kSilenceCheck(20);

}  // namespace

namespace {
struct Line;
}

struct TcpProxy::State {
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  tcp::endpoint target;
  std::atomic<int64_t> delay_ms = 0;
  std::atomic<bool> silent = false;
  bool is_cut = false;  // these two of the thread alone
  std::list<std::weak_ptr<Line>> lines;
  std::thread thread;
};

namespace {

// Two sockets and what flows between them.
struct Line : std::enable_shared_from_this<Line> {
  Line(asio::io_context& io, std::atomic<int64_t>& delay, std::atomic<bool>& is_silent)
      : near(io),
        far(io),
        timers{asio::steady_timer(io), asio::steady_timer(io)},
        delay_ms(delay),
        silent(is_silent) {}

  void start() {
    pump(near, far, buffers[0], timers[0]);
    pump(far, near, buffers[1], timers[1]);
  }

  // One piece after another, so that order is kept: read, wait, write.
  void pump(tcp::socket& from, tcp::socket& to, std::array<char, 1 << 16>& buffer,
            asio::steady_timer& timer) {
    from.async_read_some(asio::buffer(buffer), [this, self = shared_from_this(), &from, &to, &buffer, &timer](
                                                   error_code error, size_t size) {
      if (error) return end();
      timer.expires_after(std::chrono::milliseconds(delay_ms.load()));
      timer.async_wait([this, self, &from, &to, &buffer, &timer, size](error_code) {
        deliver(from, to, buffer, timer, size);
      });
    });
  }

  void deliver(tcp::socket& from, tcp::socket& to, std::array<char, 1 << 16>& buffer,
               asio::steady_timer& timer, size_t size) {
    if (half_open) return pump(from, to, buffer, timer);
    if (silent) {
      timer.expires_after(kSilenceCheck);
      timer.async_wait(
          [this, self = shared_from_this(), &from, &to, &buffer, &timer, size](error_code error) {
            if (!error) deliver(from, to, buffer, timer, size);
          });
      return;
    }
    asio::async_write(
        to, asio::buffer(buffer.data(), size),
        [this, self = shared_from_this(), &from, &to, &buffer, &timer](error_code error, size_t) {
          if (error) return end();
          pump(from, to, buffer, timer);
        });
  }

  void leave_half_open(LineEnd believer) {
    half_open = true;
    error_code ignored;
    (believer == LineEnd::kNear ? far : near).close(ignored);
  }

  // Of one end means that of the other, but for who hears of none.
  void end() {
    if (!half_open) close();
  }

  void close() {
    error_code ignored;
    near.close(ignored);
    far.close(ignored);
  }

  tcp::socket near;
  tcp::socket far;
  std::array<asio::steady_timer, 2> timers;
  std::array<std::array<char, 1 << 16>, 2> buffers{};
  std::atomic<int64_t>& delay_ms;
  std::atomic<bool>& silent;
  bool half_open = false;
};

// Accepts one line after another.
template <typename State>
void accept_next(State& state) {
  auto line = std::make_shared<Line>(state.io, state.delay_ms, state.silent);
  state.acceptor.async_accept(line->near, [&state, line](error_code error) {
    if (error) return;
    state.lines.push_back(line);
    line->far.async_connect(state.target, [&state, line](error_code failed) {
      if (failed || state.is_cut) return line->close();
      line->start();
    });
    accept_next(state);
  });
}

}  // namespace

TcpProxy::TcpProxy(const rpc::Endpoint& target) : state_(std::make_shared<State>()) {
  state_->target = tcp::endpoint(asio::ip::make_address(target.host), target.port);
  accept_next(*state_);
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

TcpProxy::~TcpProxy() {
  state_->io.stop();
  state_->thread.join();
}

rpc::Endpoint TcpProxy::endpoint() const {
  return {.host = "127.0.0.1", .port = state_->acceptor.local_endpoint().port()};
}

void TcpProxy::set_delay(absl::Duration delay) {
  state_->delay_ms = absl::ToInt64Milliseconds(delay);
}

void TcpProxy::set_silent(bool silent) {
  state_->silent = silent;
}

void TcpProxy::leave_half_open(LineEnd believer) {
  asio::post(state_->io, [state = state_.get(), believer] {
    for (const std::weak_ptr<Line>& line : state->lines)
      if (const auto open = line.lock()) open->leave_half_open(believer);
  });
}

void TcpProxy::cut() {
  asio::post(state_->io, [state = state_.get()] {
    state->is_cut = true;
    for (const std::weak_ptr<Line>& line : state->lines)
      if (const auto open = line.lock()) open->close();
  });
}

}  // namespace tf::farm_test
