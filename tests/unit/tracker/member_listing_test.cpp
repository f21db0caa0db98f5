// `tracker ca list`, through the real service.

#include <grpcpp/impl/service_type.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/files/temporary_folder.h"
#include "rpc/access/audit_log.h"
#include "rpc/clock.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/server.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_client.h"
#include "tracker/ca/member_service.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"

namespace tf::tracker {
namespace {

TEST(MemberListing, HasNamesWholeHoweverNarrowTheTerminalIs) {
  const std::string name = "the-board-behind-the-door-of-the-laboratory";
  const TemporaryFolder dir = *TemporaryFolder::make();
  ASSERT_TRUE(Authority::make(dir.file("ca"), rpc::real_wall_clock().now()).ok());
  const auto members = *Members::open(dir.file("ca"));
  ASSERT_TRUE(make_member(*members, dir.file("board"), {rpc::Role::kAgent, name}).ok());
  const auto audit = *rpc::AuditLog::open(dir.file("audit.jsonl"));
  rpc::CallPool calls({.what = "calls"}), joins({.what = "joins"});
  const std::unique_ptr<grpc::Service> service = make_member_service(*members, *audit, calls, joins);
  const auto server = *rpc::Server::start({"127.0.0.1", 0}, {service.get()});
  for (size_t width = 0; width < 160; width += 4) {
    const auto table = render_members({server->endpoint(), nullptr}, MembersFormat::kTable, width);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_THAT(*table, testing::HasSubstr(name)) << width;
  }
  server->stop(absl::ZeroDuration());
  calls.finish();  // before the service goes, which its work uses
}

}  // namespace
}  // namespace tf::tracker
