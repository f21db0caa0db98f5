// Calls that go to the audit log, while that cannot be written.

#include "base/files/temporary_folder.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/call_guard.h"
#include "tests/support/fake_clock.h"
#include "tests/support/full_disk.h"
#include "tracker/ca/authority.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

TEST(AuditedCalls, AreRefusedWhileNobodyCouldReadOfThemAndOthersAreNot) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  rpc::FakeWallClock clock;
  ASSERT_TRUE(Authority::make(dir.file("ca"), clock.now()).ok());
  const auto authority = *Authority::open(dir.file("ca"));
  const std::string request = rpc::make_certificate_request(*rpc::KeyPair::generate(), "asked");
  const auto member = [&](rpc::Role role) {
    return *authority->issue(request, {role, "ada"}, clock.now(), absl::Hours(24));
  };
  const rpc::Certificate admin = member(rpc::Role::kAdmin);
  const rpc::Certificate tuner = member(rpc::Role::kTuner);
  const auto log = *rpc::AuditLog::open(dir.file("audit.jsonl"), clock);
  const rpc::CallGuard guard(clock, log.get());
  const char* drain = "/tunefarm.farm.v1.Operators/SetAdmission";
  EXPECT_TRUE(guard.check(drain, &admin).ok());
  {
    const FullDisk disk(0);
    log->record({.who = "admin ada", .method = "Operators/SetAdmission", .object = "box", .outcome = "OK"});
    ASSERT_FALSE(log->flush().ok());
    const absl::Status refused = guard.check(drain, &admin);
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("changes need it"));
    EXPECT_TRUE(absl::IsPermissionDenied(guard.check(drain, &tuner)));
    EXPECT_TRUE(guard.check("/tunefarm.farm.v1.Operators/ListDevices", &admin).ok());
    EXPECT_TRUE(guard.check("/tunefarm.farm.v1.Tuners/AcquireLease", &tuner).ok());
    EXPECT_TRUE(guard.check("/tunefarm.identity.v1.Members/Renew", &tuner).ok());
  }
  ASSERT_TRUE(log->flush().ok());
  EXPECT_TRUE(guard.check(drain, &admin).ok());
}

}  // namespace
}  // namespace tf::tracker
