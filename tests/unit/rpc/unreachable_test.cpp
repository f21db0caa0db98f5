#include "rpc/unreachable.h"

#include <arpa/inet.h>
#include <grpcpp/support/status.h>
#include <sys/socket.h>

#include "base/owned_fd.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/grpc_status.h"
#include "rpc/server.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;

// A port that takes connections and says nothing; or, closed, one where nobody listens.
class Silence {
 public:
  Silence() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_.get(), 8), 0);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_ = {.host = "127.0.0.1", .port = ntohs(address.sin_port)};
  }
  const Endpoint& endpoint() const { return endpoint_; }
  void close() { fd_.reset(); }

 private:
  OwnedFd fd_;
  Endpoint endpoint_;
};

TEST(Unreachable, NothingIsSpokenWhereNobodyListensOrTheListenerKeepsSilent) {
  Silence silence;
  EXPECT_EQ(spoken_at(silence.endpoint(), absl::Milliseconds(50)), Spoken::kNothing);
  silence.close();
  EXPECT_EQ(spoken_at(silence.endpoint()), Spoken::kNothing);
  EXPECT_EQ(spoken_at({.host = "no-such-host.invalid", .port = 1}), Spoken::kNothing);
  for (const bool secured : {false, true}) {
    EXPECT_THAT(std::string(unreachable("tracker", silence.endpoint(), secured).message()),
                HasSubstr("no tracker answers at " + silence.endpoint().text()));
  }
}

TEST(Unreachable, SecuredCallerHearsThatPlainTextIsSpoken) {
  tunefarm::farm::v1::Operators::CallbackService service;
  const auto server = Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(spoken_at((*server)->endpoint()), Spoken::kOther);
  const absl::Status status = unreachable("tracker", (*server)->endpoint(), true);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("speaks plain text: leave out --tls"));
}

TEST(FromGrpc, AServiceThatIsNotThereIsSaidInWords) {
  const absl::Status status = from_grpc(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("check that the port is a tuner's"));
}

}  // namespace
}  // namespace tf::rpc
