#include "rpc/connection/call_pool.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"
#include "rpc/connection/unary_call.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

// Work that keeps one of the pool's threads until it is let go.
class Held {
 public:
  explicit Held(CallPool& pool) {
    EXPECT_TRUE(pool.run([gate = gate_] {
                      gate->begun.set_value();
                      gate->let_go.get_future().wait();
                    })
                    .ok());
    gate_->begun.get_future().wait();
  }
  void let_go() { gate_->let_go.set_value(); }

 private:
  struct Gate {
    std::promise<void> begun, let_go;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();  // the thread's, too: it may come late
};

TEST(CallPool, DoesItsWorkInTheOrderInWhichItCame) {
  std::vector<int> done;
  {
    CallPool pool({.what = "calls", .threads = 1});
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool.run([&done, i] { done.push_back(i); }).ok());
  }
  EXPECT_THAT(done, testing::ElementsAre(0, 1, 2, 3, 4)) << "all of it before it ends";
}

TEST(CallPool, WorkThatWaitsLeavesTheOtherThreadsFree) {
  CallPool pool({.what = "calls", .threads = 2});
  Held held(pool);
  std::promise<void> done;
  EXPECT_TRUE(pool.run([&] { done.set_value(); }).ok());
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  held.let_go();
}

TEST(CallPool, RefusesWhatMayNotWait) {
  std::atomic<int> done = 0;
  {
    CallPool pool({.what = "operators' calls", .threads = 1, .most_waiting = 2});
    Held held(pool);
    EXPECT_TRUE(pool.run([&] { ++done; }).ok());
    EXPECT_TRUE(pool.run([&] { ++done; }).ok());
    const absl::Status refused = pool.run([&] { ++done; });
    EXPECT_TRUE(absl::IsUnavailable(refused));
    EXPECT_EQ(refused.message(),
              "too many concurrent operators' calls: 2 are waiting; try again in a moment");
    held.let_go();
  }
  EXPECT_EQ(done, 2);
}

// Serves one method on a pool.
class Service final : public pb::Operators::CallbackService {
 public:
  explicit Service(CallPool& pool) : pool_(pool) {}
  grpc::ServerUnaryReactor* Unreserve(grpc::CallbackServerContext* context, const pb::UnreserveRequest*,
                                      pb::UnreserveReply*) override {
    context_ = context;
    return finished_on(pool_, context, [this] {
      ++served;
      return absl::OkStatus();
    });
  }
  bool is_asked() const { return context_ != nullptr; }
  // While it is not answered.
  bool is_cancelled() const { return context_.load()->IsCancelled(); }
  std::atomic<int> served = 0;

 private:
  CallPool& pool_;
  std::atomic<grpc::CallbackServerContext*> context_ = nullptr;
};

class UnaryCallTest : public testing::Test {
 protected:
  grpc::Status call(grpc::ClientContext& context) {
    set_deadline(context, absl::Seconds(30));
    pb::UnreserveReply reply;
    return stub_->Unreserve(&context, {}, &reply);
  }

  std::optional<CallPool> pool_{CallPoolOptions{.what = "calls", .threads = 1, .most_waiting = 1}};
  Service service_{*pool_};
  const std::unique_ptr<Server> server_ = *Server::start({"127.0.0.1", 0}, {&service_});
  const std::unique_ptr<pb::Operators::Stub> stub_ =
      pb::Operators::NewStub(make_channel(server_->endpoint()));
};

TEST_F(UnaryCallTest, IsAnsweredFromThePool) {
  grpc::ClientContext context;
  EXPECT_TRUE(call(context).ok());
  EXPECT_EQ(service_.served, 1);
}

TEST_F(UnaryCallTest, IsRefusedWhereThePoolIsFull) {
  Held held(*pool_);
  EXPECT_TRUE(pool_->run([] {}).ok());
  grpc::ClientContext context;
  EXPECT_EQ(call(context).error_code(), grpc::StatusCode::UNAVAILABLE);
  held.let_go();
  EXPECT_EQ(service_.served, 0);
}

TEST_F(UnaryCallTest, WhoseCallerHasGoneBeforeItsTurnIsNotServed) {
  Held held(*pool_);
  grpc::ClientContext context;
  auto ended = std::async(std::launch::async, [&] { return call(context); });
  while (!service_.is_asked()) std::this_thread::yield();
  context.TryCancel();
  EXPECT_EQ(ended.get().error_code(), grpc::StatusCode::CANCELLED);
  while (!service_.is_cancelled()) std::this_thread::yield();
  held.let_go();
  pool_.reset();  // has done what waited
  EXPECT_EQ(service_.served, 0);
}

}  // namespace
}  // namespace tf::rpc
