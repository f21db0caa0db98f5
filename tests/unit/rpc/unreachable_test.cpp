#include "rpc/connection/unreachable.h"

#include <arpa/inet.h>
#include <grpcpp/support/status.h>
#include <sys/socket.h>

#include <thread>

#include "base/files/owned_fd.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/server.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;

TEST(EndOfAConnection, IsToldInOurWords) {
  const Endpoint at{.host = "127.0.0.1", .port = 7190};
  const auto told = [&](const char* theirs) {
    return std::string(
        from_grpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, theirs), "tracker", at, false).message());
  };
  EXPECT_EQ(told("Cancelling all calls"), "the tracker at 127.0.0.1:7190 is stopping");
  EXPECT_EQ(told("Socket closed"), "lost the connection to the tracker at 127.0.0.1:7190");
  EXPECT_EQ(told("recvmsg:Connection reset by peer"), "lost the connection to the tracker at 127.0.0.1:7190");
  EXPECT_EQ(told("recvmsg:Connection timed out"),
            "lost the connection to the tracker at 127.0.0.1:7190: no data gets through");
  EXPECT_EQ(told("Cancelled on the server side"), "the tracker at 127.0.0.1:7190 ended the call");
  EXPECT_EQ(told("keepalive watchdog timeout"), "the tracker at 127.0.0.1:7190 stopped responding");
  EXPECT_EQ(told("Received RST_STREAM with error code 8"),
            "the tracker at 127.0.0.1:7190 ended the call (Received RST_STREAM with error code 8)");
  EXPECT_EQ(told("GOAWAY received; Error code: 11; Debug Text: too_many_pings"),
            "lost the connection to the tracker at 127.0.0.1:7190 (GOAWAY received; Error code: 11; "
            "Debug Text: too_many_pings)");
  EXPECT_EQ(told("no device is free"), "no device is free") << "what a server says itself";
  const absl::Status nameless = from_grpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"));
  EXPECT_TRUE(absl::IsUnavailable(nameless)) << nameless;
  EXPECT_EQ(nameless.message(), "lost the connection to the server");
}

TEST(EndOfAConnection, IsNotWhatOnlyQuotesOne) {
  const auto told = [](grpc::StatusCode code, const std::string& theirs) {
    return std::string(from_grpc(grpc::Status(code, theirs)).message());
  };
  const auto stays = [&](grpc::StatusCode code, const std::string& theirs) {
    EXPECT_EQ(told(code, theirs), theirs);
    EXPECT_EQ(from_grpc(grpc::Status(code, theirs), "tuner", {.host = "h", .port = 1}, false).message(),
              theirs);
  };
  stays(grpc::StatusCode::NOT_FOUND, "GOAWAY received: no such device");
  stays(grpc::StatusCode::INVALID_ARGUMENT, "Socket closed");
  stays(grpc::StatusCode::UNAVAILABLE, "the agent's last words were: Socket closed");
  const std::string unconnected =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7190: Socket closed";
  EXPECT_EQ(told(grpc::StatusCode::UNAVAILABLE, unconnected), unconnected) << "it has the address";
}

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
  // Says this to the next who connects and has said something.
  void greet(const std::string& text) {
    const OwnedFd caller(accept(fd_.get(), nullptr, nullptr));
    char heard[1] = {};
    EXPECT_EQ(recv(caller.get(), heard, sizeof heard, 0), 1);
    EXPECT_EQ(send(caller.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    // Until it has gone: an end with unread bytes would be a reset.
    while (recv(caller.get(), heard, sizeof heard, 0) > 0) {
    }
  }

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

TEST(Unreachable, SecuredCallerHearsThatNoTlsIsSpokenAndWhichPortsToCompare) {
  tunefarm::farm::v1::Operators::CallbackService service;
  const auto server = Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(spoken_at((*server)->endpoint()), Spoken::kHttp2);
  const absl::Status status = unreachable("tracker", (*server)->endpoint(), true);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("the server at " + (*server)->endpoint().text() +
                " does not speak TLS, so it is not a tracker of a secured farm: compare the port with "
                "that of `tracker serve --listen` (7190 by default)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("without --tls, omit --tls here too"));
  EXPECT_THAT(std::string(unreachable("tuner", (*server)->endpoint(), true).message()),
              HasSubstr("`tuner serve --listen` (7191 by default)"));
}

TEST(Unreachable, CallerInPlainTextHearsOfATrackerThatIsSlowThatNoneAnswers) {
  tunefarm::farm::v1::Operators::CallbackService service;
  const auto server = Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(std::string(unreachable("tracker", (*server)->endpoint(), false).message()),
              HasSubstr("no tracker answers at"));
}

// A server of some other kind, as Prometheus' page or sshd: it speaks, but no HTTP/2.
TEST(Unreachable, CallerInPlainTextHearsThatNoTrackerIsThere) {
  Silence other;
  std::thread speaks([&] { other.greet("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  const absl::Status status = unreachable("tracker", other.endpoint(), false);
  speaks.join();
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not respond like a tracker: compare the port"));
}

TEST(Unreachable, AHandshakeThatCameToNoEndIsNoStrangersAndNoCertificates) {
  const std::string prefix = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: ";
  const auto told = [&](const std::string& reason) {
    Silence slow;
    std::thread speaks([&] { slow.greet(std::string("\x16\x03\x03\x00", 4)); });
    const absl::Status status = unreachable("tuner", slow.endpoint(), true, prefix + reason);
    speaks.join();
    return std::string(status.message());
  };
  for (const std::string reason : {"Handshake read failed", "tcp handshaker shutdown"}) {
    EXPECT_THAT(told(reason), HasSubstr("did not finish the TLS handshake in time (failed to connect"));
    EXPECT_THAT(told(reason),
                HasSubstr(": try again; if that does not help, check its load and compare the port"));
  }
  EXPECT_THAT(told("Peer verification failed"),
              HasSubstr("is not a tuner of this farm, or a certificate has expired"));
}

TEST(FromGrpc, AServerWithoutAFreeThreadSaysWhatToDo) {
  const grpc::Status full(grpc::StatusCode::RESOURCE_EXHAUSTED, "Server Threadpool Exhausted");
  const absl::Status status = from_grpc(full, "tuner", {.host = "127.0.0.1", .port = 7191}, false);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message(),
            "the tuner at 127.0.0.1:7191 is at its limit of concurrent calls: try again later");
  const absl::Status own = from_grpc(grpc::Status(full.error_code(), "2000 jobs wait"));
  EXPECT_EQ(own.message(), "2000 jobs wait");
}

TEST(FromGrpc, AServiceThatIsNotThereIsSaidInWords) {
  const absl::Status status = from_grpc(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("check that the address is"));
}

TEST(FromGrpc, AServiceThatIsNotAtAnAddressIsSaidWithBoth) {
  const grpc::Status unknown(grpc::StatusCode::UNIMPLEMENTED, "");
  const absl::Status status = from_grpc(unknown, "tracker", {.host = "127.0.0.1", .port = 7191}, false);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the server at 127.0.0.1:7191 does not support this "
                                                       "call: it is not a tracker or has another version"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("`tracker serve --listen` (7190 by default)"));
}

}  // namespace
}  // namespace tf::rpc
