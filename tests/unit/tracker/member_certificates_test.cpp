#include "base/files/temporary_folder.h"
#include "rpc/access/seen_certificates.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/member_store.h"

namespace tf::tracker {
namespace {

using rpc::Certificate;
using rpc::Identity;
using rpc::Role;

TEST(MemberStore, ListsCertificatesPageByPageInOrderOfIssue) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const auto store = *MemberStore::open(dir.file("members.db"));
  std::vector<std::string> issued;
  for (const char* serial : {"c", "a", "e", "b", "d", "g", "f"}) {
    const IssuedCertificate certificate{.serial = serial, .identity = {Role::kAgent, serial}};
    ASSERT_TRUE(store->apply({.issued = certificate}, absl::Now()).ok());
    issued.emplace_back(serial);
  }
  for (const size_t most : {1u, 2u, 6u, 7u, 8u}) {
    std::vector<std::string> listed;
    int64_t after = 0;
    do {
      const auto page = store->certificates(after, most);
      ASSERT_TRUE(page.ok()) << page.status();
      EXPECT_LE(page->certificates.size(), most);
      for (const IssuedCertificate& each : page->certificates) listed.push_back(each.serial);
      ASSERT_TRUE(page->end == 0 || page->end > after);
      after = page->end;
    } while (after != 0);
    EXPECT_EQ(listed, issued) << most << " a page";
  }
  EXPECT_EQ(store->certificates()->certificates.size(), issued.size());
}

TEST(SeenCertificates, AreTheSameAsThoseThatAreParsed) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  ASSERT_TRUE(Authority::make(dir.file("ca"), absl::Now()).ok());
  const auto authority = *Authority::open(dir.file("ca"));
  const rpc::KeyPair key = *rpc::KeyPair::generate();
  rpc::SeenCertificates seen(2);
  EXPECT_FALSE(seen.from_pem("no certificate").ok());
  EXPECT_EQ(seen.size(), 0u);
  for (const char* name : {"a", "b", "a", "c", "b"}) {
    const Identity identity{Role::kTuner, name};
    const absl::StatusOr<Certificate> made =
        authority->issue(rpc::make_certificate_request(key, name), identity, absl::Now(), absl::Hours(1), {});
    ASSERT_TRUE(made.ok()) << made.status();
    for (int i = 0; i < 2; ++i) {
      const auto parsed = seen.from_pem(made->pem());
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->der(), made->der());
      EXPECT_EQ(parsed->serial(), made->serial());
      EXPECT_EQ(parsed->identity(), identity);
    }
    EXPECT_LE(seen.size(), 2u);
  }
}

}  // namespace
}  // namespace tf::tracker
