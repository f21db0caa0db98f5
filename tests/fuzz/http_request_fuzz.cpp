// Whatever may come over a connection of HTTP: requests, their JSON, one after the other.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/input.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/http/session.h"

namespace {

using namespace tf;
using namespace tf::web;

// A peer that sends the input in parts of a few bytes, and reads all.
class InputTransport final : public Transport {
 public:
  InputTransport(asio::any_io_executor executor, std::string input)
      : executor_(std::move(executor)), input_(std::move(input)) {}
  asio::any_io_executor executor() override { return executor_; }
  asio::awaitable<bool> open(absl::Duration) override { co_return true; }
  asio::awaitable<size_t> read(char* into, size_t most, absl::Duration) override {
    const size_t bytes = std::min({most, input_.size() - at_, size_t{61}});
    std::memcpy(into, input_.data() + at_, bytes);
    at_ += bytes;
    co_return bytes;
  }
  asio::awaitable<bool> write(std::string_view bytes, absl::Duration) override {
    written_.append(bytes);
    co_return true;
  }
  asio::awaitable<void> until_heard() override { co_return; }
  asio::awaitable<void> close() override {
    const bool is_answer = written_.empty() || written_.starts_with("HTTP/1.1 ");
    TF_CHECK(is_answer) << written_;
    co_return;
  }
  void abort() override {}

 private:
  const asio::any_io_executor executor_;
  const std::string input_;
  size_t at_ = 0;
  std::string written_;
};

// A server without services: what reaches it is answered at once.
std::shared_ptr<grpc::Channel> nothing() {
  static grpc::Server& server = *[] {
    grpc::ServerBuilder builder;
    static grpc::Service none;
    builder.RegisterService(&none);
    return builder.BuildAndStart().release();
  }();
  return server.InProcessChannel({});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto& gateway = *new Gateway({.tuner = nothing(),
                                       .tracker = nothing(),
                                       .host_names = [] { return std::vector<std::string>{"tuner.lab"}; },
                                       .most_model_bytes = 1 << 20});
  asio::io_context io;
  const auto session =
      make_session(std::make_unique<InputTransport>(io.get_executor(), std::string(fuzz::text(data, size))),
                   {.address = "127.0.0.1", .local_address = "127.0.0.1"}, gateway, {},
                   {.waits = [](bool) {}, .answered = [](int) {}});
  asio::co_spawn(io, session->run(), asio::detached);
  io.run();
  return 0;
}
