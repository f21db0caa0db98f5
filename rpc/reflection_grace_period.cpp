#include "rpc/reflection_grace_period.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <optional>
#include <string_view>

#include "rpc/stall_watch.h"

namespace tf::rpc {
namespace {

// Of every version of it.
bool is_reflection(std::string_view method) {
  return method.starts_with("/grpc.reflection.");
}

// gRPC makes one for each call and tells it of the call's events.
class ReflectionGracePeriod final : public grpc::experimental::Interceptor {
 public:
  ReflectionGracePeriod(StallWatch& silence, grpc::experimental::ServerRpcInfo& info)
      : silence_(silence), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    // Cancelling the call comes here, too, on the watch's thread, and at none of these points.
    if (batch->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA) ||
        batch->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) {
      waiting_.reset();
      waiting_.emplace(silence_.begin([context = info_.server_context()] { context->TryCancel(); }));
    }
    // From the status on, the call's context may go at any time.
    if (batch->QueryInterceptionHookPoint(Hook::PRE_SEND_STATUS)) waiting_.reset();
    batch->Proceed();
  }

 private:
  StallWatch& silence_;
  grpc::experimental::ServerRpcInfo& info_;
  std::optional<StallWatch::Wait> waiting_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(StallWatch& silence) : silence_(silence) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return is_reflection(info->method()) ? new ReflectionGracePeriod(silence_, *info) : nullptr;
  }

 private:
  StallWatch& silence_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> reflection_grace_period(
    StallWatch& silence) {
  return std::make_unique<Factory>(silence);
}

}  // namespace tf::rpc
