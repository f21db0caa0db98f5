// Every method of the farm's CA: joining is the one thing that anybody may ask for. Served in plain text, so
// that no revocation ends the fuzzing.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include "absl/time/clock.h"
#include "rpc/access/audit_log.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/server.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/served.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_service.h"
#include "tracker/ca/members.h"

namespace {

using tf::rpc::AuditLog;
using tf::tracker::Members;

const std::string& ca() {
  static const std::string kFolder = [] {
    const std::string folder = tf::fuzz::folder().file("ca");
    TF_CHECK(tf::tracker::Authority::make(folder, absl::Now()).ok());
    return folder;
  }();
  return kFolder;
}

class Daemon {
 public:
  const tf::rpc::Endpoint& endpoint() const { return server_->endpoint(); }

 private:
  const std::unique_ptr<Members> members_ = *Members::open(ca());
  const std::unique_ptr<AuditLog> audit_ = *AuditLog::open(ca() + "/audit.jsonl");
  tf::rpc::CallPool calls_{{.what = "calls"}};
  tf::rpc::CallPool joins_{{.what = "joins"}};
  const std::unique_ptr<grpc::Service> service_ = make_member_service(*members_, *audit_, calls_, joins_);
  const std::unique_ptr<tf::rpc::Server> server_ =
      *tf::rpc::Server::start({.host = "127.0.0.1"}, {service_.get()});
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Never destroyed: gRPC's threads outlive main.
  static auto& served = *new tf::fuzz::Served<Daemon>([] { return std::make_unique<Daemon>(); },
                                                      "/tunefarm.identity.v1.Members/ListMembers");
  served.call(tf::fuzz::text(data, size));
  return 0;
}
