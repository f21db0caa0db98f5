#include "tests/farm/cut_line.h"

#include <atomic>
#include <boost/asio.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace tf::farm_test {

namespace asio = boost::asio;
using asio::ip::tcp;

struct CutLine::State {
  using Socket = std::shared_ptr<tcp::socket>;

  void accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket from) {
      if (error) return;
      ++connections;
      if (!is_cut) {
        auto near = std::make_shared<tcp::socket>(std::move(from));
        auto far = std::make_shared<tcp::socket>(io);
        boost::system::error_code unreachable;
        far->connect(target, unreachable);
        if (!unreachable) {
          sockets.push_back(near);
          sockets.push_back(far);
          pump(near, far, std::make_shared<std::array<char, 65536>>());
          pump(far, near, std::make_shared<std::array<char, 65536>>());
        }
      }
      accept();
    });
  }

  void pump(const Socket& from, const Socket& to, const std::shared_ptr<std::array<char, 65536>>& buffer) {
    from->async_read_some(asio::buffer(*buffer), [=, this](const boost::system::error_code& error, size_t n) {
      boost::system::error_code ignored;
      if (error) {
        to->shutdown(tcp::socket::shutdown_send, ignored);
        return;
      }
      asio::async_write(*to, asio::buffer(*buffer, n),
                        [=, this](const boost::system::error_code& failed, size_t) {
                          if (!failed) pump(from, to, buffer);
                        });
    });
  }

  void cut() {
    is_cut = true;
    boost::system::error_code ignored;
    for (const Socket& socket : sockets) socket->close(ignored);
    sockets.clear();
  }

  asio::io_context io;
  tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  tcp::endpoint target;
  rpc::Endpoint endpoint;
  std::atomic<int> connections = 0;
  bool is_cut = false;  // these two of the thread alone
  std::list<Socket> sockets;
  std::thread thread;
};

CutLine::CutLine(const rpc::Endpoint& target) : state_(std::make_unique<State>()) {
  state_->target = tcp::endpoint(asio::ip::make_address(target.host), target.port);
  state_->endpoint = {.host = "127.0.0.1", .port = state_->acceptor.local_endpoint().port()};
  state_->accept();
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

CutLine::~CutLine() {
  state_->io.stop();
  state_->thread.join();
}

const rpc::Endpoint& CutLine::endpoint() const {
  return state_->endpoint;
}

void CutLine::cut() {
  asio::post(state_->io, [state = state_.get()] { state->cut(); });
}

int CutLine::connections() const {
  return state_->connections;
}

}  // namespace tf::farm_test
