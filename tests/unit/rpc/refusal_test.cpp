#include "rpc/access/refusal.h"

#include <grpcpp/support/status.h>

#include <string>

#include "base/remedy.h"
#include "rpc/connection/grpc_status.h"

namespace tf::rpc {
namespace {

// What gRPC carries of a call that a server's gate has refused: no details.
absl::Status heard(grpc::StatusCode code, std::string_view message) {
  return from_grpc(grpc::Status(code, std::string(message)));
}

TEST(RefusedCaller, IsToldWhatToDoApartFromWhatIsTrue) {
  for (const std::string_view remedy :
       {kJoinFirst, kJoinAgain, std::string_view("join again with a new token")}) {
    const absl::Status refused = refused_caller("the certificate 17: it is revoked", remedy);
    EXPECT_EQ(refused.message(), "the certificate 17: it is revoked: " + std::string(remedy));
    const absl::Status received = heard(grpc::StatusCode::UNAUTHENTICATED, std::string(refused.message()));
    EXPECT_TRUE(absl::IsUnauthenticated(received)) << received;
    EXPECT_EQ(received.message(), refused.message()) << "to all others it is one message";
    EXPECT_EQ(trouble_of(received).truth, "the certificate 17: it is revoked");
    EXPECT_EQ(trouble_of(received).remedy, remedy);
  }
}

// A colon alone is no remedy, nor are these words in an error of another kind.
TEST(RefusedCaller, IsNobodyElse) {
  for (const char* message :
       {"this join token is not known here: ask an admin for another",
        "the server is the tuner ada: port 7191", "join again with a new token", ": ", ""})
    EXPECT_EQ(trouble_of(heard(grpc::StatusCode::UNAUTHENTICATED, message)).remedy, "") << message;
  const absl::Status denied =
      heard(grpc::StatusCode::PERMISSION_DENIED, "eve may not: join again with a new token");
  EXPECT_EQ(trouble_of(denied).truth, "eve may not: join again with a new token");
  EXPECT_EQ(trouble_of(denied).remedy, "");
}

}  // namespace
}  // namespace tf::rpc
