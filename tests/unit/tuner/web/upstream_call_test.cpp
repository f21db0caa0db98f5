#include "tuner/web/gateway/upstream_call.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <functional>

#include "proto/tune/v1/tune.grpc.pb.h"

namespace tf::web {
namespace {

namespace pb = tunefarm::tune::v1;

// Has always more to tell.
class EndlessService final : public pb::Records::Service {
 public:
  grpc::Status Scan(grpc::ServerContext*, const pb::ScanRequest*,
                    grpc::ServerWriter<pb::RecordLines>* writer) override {
    pb::RecordLines lines;
    lines.add_lines("a record");
    while (writer->Write(lines)) continue;
    return grpc::Status::CANCELLED;
  }
};

class UpstreamCallTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }

  std::shared_ptr<UpstreamCall> begin_scan() {
    return UpstreamCall::begin(strand_, server_->InProcessChannel({}), "/tunefarm.tune.v1.Records/Scan",
                               absl::Minutes(1), nullptr);
  }

  void run(std::function<asio::awaitable<void>()> test) {
    asio::co_spawn(strand_, std::move(test), asio::detached);
    io_.run();
  }

  EndlessService service_;
  std::unique_ptr<grpc::Server> server_;
  asio::io_context io_;
  const asio::any_io_executor strand_ = asio::make_strand(io_);
};

// As by when_gone, while the coroutine hands on the message before.
TEST_F(UpstreamCallTest, OneThatWasCancelledAndIsOverHasNothingToReadAndTakesNothing) {
  bool over = false;
  run([&]() -> asio::awaitable<void> {
    const auto call = begin_scan();
    EXPECT_TRUE(co_await call->write("", /*is_last=*/true));
    EXPECT_EQ(co_await call->read(), UpstreamCall::Read::kMessage);
    EXPECT_FALSE(call->take_message().empty());
    call->cancel();
    const grpc::Status status = co_await call->finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_EQ(co_await call->read(), UpstreamCall::Read::kEnd);
    EXPECT_FALSE(co_await call->write("", /*is_last=*/false));
    over = true;
  });
  EXPECT_TRUE(over);
}

TEST_F(UpstreamCallTest, MessagesComeOneAfterTheOther) {
  int messages = 0;
  run([&]() -> asio::awaitable<void> {
    const auto call = begin_scan();
    EXPECT_TRUE(co_await call->write("", /*is_last=*/true));
    for (; messages < 100; ++messages) {
      if (co_await call->read() != UpstreamCall::Read::kMessage) break;
      pb::RecordLines lines;
      EXPECT_TRUE(lines.ParseFromString(call->take_message()));
      EXPECT_EQ(lines.lines_size(), 1);
    }
    call->cancel();
  });
  EXPECT_EQ(messages, 100);
}

}  // namespace
}  // namespace tf::web
