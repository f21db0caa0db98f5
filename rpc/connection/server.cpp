#include "rpc/connection/server.h"

#include <arpa/inet.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/support/server_interceptor.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/remedy.h"
#include "base/status.h"
#include "rpc/access/call_guard.h"
#include "rpc/identity/credentials.h"

namespace tf::rpc {
namespace {

// "--metrics: cannot listen on 127.0.0.1:9190"
std::string cannot_listen(const Endpoint& listen, std::string_view option) {
  return absl::StrCat(std::string(option), option.empty() ? "" : ": ", "cannot listen on ", listen.text());
}

absl::Status in_use(const Endpoint& listen, std::string_view option = "") {
  return with_remedy(absl::StatusCode::kAlreadyExists,
                     absl::StrCat(cannot_listen(listen, option), ": the port is in use"),
                     "stop the program that holds it or choose another port");
}

}  // namespace

// gRPC only says that it could not bind; the kernel says why, so ask it first.
absl::Status check_bindable(const Endpoint& listen, std::string_view option) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(listen.host.c_str(), absl::StrCat(listen.port).c_str(), &hints, &found);
  if (error != 0) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat(cannot_listen(listen, option), ": ", gai_strerror(error)),
                       "give an address of this machine");
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const int bound = bind(fd, found->ai_addr, found->ai_addrlen);
  const int reason = errno;
  close(fd);
  freeaddrinfo(found);
  if (bound == 0) return absl::OkStatus();
  if (reason == EADDRINUSE) return in_use(listen, option);
  return absl::UnavailableError(absl::StrCat(cannot_listen(listen, option), ": ", std::strerror(reason)));
}

namespace {

// A connection keeps the certificate that it began with. Once it is a twelfth of that certificate's life old,
// new calls get a new connection, so that a certificate that was renewed at two thirds is used before its
// predecessor ends; calls under way go on.
constexpr int kConnectionsPerCertificate = 12;

std::shared_ptr<grpc::ServerCredentials> secure(grpc::ServerBuilder& builder,
                                                const ServerSecurity& security) {
  TF_CHECK((security.credentials == nullptr) == (security.guard == nullptr));
  if (!security.credentials) return grpc::InsecureServerCredentials();
  const Certificate own = security.credentials->certificate();
  const absl::Duration age = (own.not_after() - own.not_before()) / kConnectionsPerCertificate;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(age), INT_MAX)));
  std::shared_ptr<grpc::ServerCredentials> credentials = security.credentials->server();
  credentials->SetAuthMetadataProcessor(security.guard->processor());
  return credentials;
}

std::atomic<bool> serves_reflection = false;

// Ends a stream of reflection as it begins. gRPC serves it in every program that is linked to it.
class NoReflection final : public grpc::experimental::Interceptor {
 public:
  explicit NoReflection(grpc::experimental::ServerRpcInfo& info) : info_(info) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (batch->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA))
      info_.server_context()->TryCancel();
    batch->Proceed();
  }

 private:
  grpc::experimental::ServerRpcInfo& info_;
};

class NoReflectionFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    const bool is_reflection = std::string_view(info->method()).starts_with("/grpc.reflection.");
    return is_reflection ? new NoReflection(*info) : nullptr;
  }
};

// What looks at each call.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors(
    const ServerSecurity& security) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> all;
  if (security.guard) all.push_back(security.guard->interceptors());
  if (!serves_reflection) all.push_back(std::make_unique<NoReflectionFactory>());
  return all;
}

}  // namespace

void serve_reflection() {
  serves_reflection = true;
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
}

absl::StatusOr<std::unique_ptr<Server>> Server::start(const Endpoint& listen,
                                                      const std::vector<grpc::Service*>& services,
                                                      const ServerSecurity& security,
                                                      const ServerOptions& options) {
  TF_RETURN_IF_ERROR(check_bindable(listen));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.experimental().SetInterceptorCreators(interceptors(security));
  apply(options.link, builder);
  if (options.most_threads > 0)
    builder.SetResourceQuota(grpc::ResourceQuota("calls").SetMaxThreads(options.most_threads));
  int port = 0;
  builder.AddListeningPort(listen.text(), secure(builder, security), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (port == 0) return in_use(listen);  // taken since we looked
  if (!server) return absl::InternalError(absl::StrCat("gRPC could not serve on ", listen.text()));
  return std::unique_ptr<Server>(
      new Server(std::move(server), Endpoint{.host = listen.host, .port = static_cast<uint16_t>(port)}));
}

Server::Server(std::unique_ptr<grpc::Server> server, Endpoint endpoint)
    : server_(std::move(server)), endpoint_(std::move(endpoint)) {}

Server::~Server() {
  stop(absl::ZeroDuration());
}

std::shared_ptr<grpc::Channel> Server::in_process_channel() {
  return server_->InProcessChannel(grpc::ChannelArguments());
}

void Server::stop(absl::Duration grace) {
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService()) health->Shutdown();
  server_->Shutdown(deadline_in(grace));
  server_->Wait();
}

}  // namespace tf::rpc
