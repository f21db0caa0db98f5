#pragma once
// Owns: a web server on loopback that answers what a test says, byte for byte. Does not know: HTTP beyond a request's first
// line.

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <istream>
#include <string>
#include <thread>
#include <utility>

namespace tf::record_sets {

// The whole answer to a GET of that path, headers included.
using Answers = std::function<std::string(const std::string& path)>;

inline std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Answers one connection after the other until it is destroyed. With `tls` it speaks https.
class WebServer {
 public:
  explicit WebServer(Answers answers, boost::asio::ssl::context* tls = nullptr)
      : answers_(std::move(answers)),
        tls_(tls),
        acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~WebServer() {
    stopping_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket(io_).connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  int requests() const { return requests_; }

 private:
  void serve() {
    while (true) {
      boost::asio::ip::tcp::socket socket(io_);
      acceptor_.accept(socket);
      if (stopping_) return;
      boost::system::error_code ignored;
      if (tls_ == nullptr) {
        answer(socket);
        socket.shutdown(socket.shutdown_both, ignored);
      } else {
        boost::asio::ssl::stream<boost::asio::ip::tcp::socket> secured(std::move(socket), *tls_);
        secured.handshake(secured.server, ignored);
        if (ignored) continue;
        answer(secured);
        secured.shutdown(ignored);
      }
    }
  }

  template <typename Stream>
  void answer(Stream& stream) {
    boost::asio::streambuf request;
    boost::system::error_code ignored;
    boost::asio::read_until(stream, request, "\r\n\r\n", ignored);
    std::istream words(&request);
    std::string method, path;
    words >> method >> path;
    ++requests_;
    boost::asio::write(stream, boost::asio::buffer(answers_(path)), ignored);
  }

  const Answers answers_;
  boost::asio::ssl::context* const tls_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace tf::record_sets
