#include "rpc/identity/artifact_signature.h"

#include <cstdlib>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "rpc/identity/identity_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tracker/prepared_grpc.h"
#include "tracker/ca/members.h"

namespace tf::tracker {
namespace {

using rpc::Role;
using testing::HasSubstr;

class SignatureTest : public testing::Test {
 protected:
  SignatureTest() {
    EXPECT_TRUE(Authority::make(dir_.file("ca"), clock_.now()).ok());
    members_ = *Members::open(dir_.file("ca"), clock_);
  }

  std::shared_ptr<rpc::Credentials> member(Role role, const std::string& name, Members& members) {
    const std::string folder = dir_.file(name);
    const auto key = rpc::make_member_key(folder);
    const auto certificate = members.issue({role, name}, rpc::make_certificate_request(*key, name), {});
    EXPECT_TRUE(rpc::save_member(folder, *certificate, members.ca(), "").ok());
    return *rpc::Credentials::load(folder, clock_);
  }
  const TemporaryFolder dir_ = *TemporaryFolder::make();
  rpc::FakeWallClock clock_;
  std::unique_ptr<Members> members_;
  const std::string digest_ = sha256("artifact").hex();
};

TEST_F(SignatureTest, OfATunerIsBelieved) {
  rpc::ArtifactSigner signer(member(Role::kTuner, "ada", *members_));
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box", *members_), clock_);
  EXPECT_TRUE(verifier.check(digest_, signer.sign(digest_), signer.certificate()).ok());
}

TEST_F(SignatureTest, OfARevokedSignerIsBelievedNoMore) {
  const auto ada = member(Role::kTuner, "ada", *members_);
  rpc::ArtifactSigner signer(ada);
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box", *members_), clock_);
  const std::string signature = signer.sign(digest_);
  ASSERT_TRUE(verifier.check(digest_, signature, signer.certificate()).ok());
  verifier.set_revoked({ada->certificate().serial()});
  const std::string another = sha256("another").hex();
  for (const absl::Status& status : {verifier.check(digest_, signature, signer.certificate()),
                                     verifier.check(another, signer.sign(another), signer.certificate())}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is revoked"));
  }
}

TEST_F(SignatureTest, IsBelievedNoLongerThanItsSignersCertificate) {
  rpc::ArtifactSigner signer(member(Role::kTuner, "ada", *members_));
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box", *members_), clock_);
  const std::string signature = signer.sign(digest_);
  ASSERT_TRUE(verifier.check(digest_, signature, signer.certificate()).ok());
  clock_.advance(absl::Hours(24 * 31));
  const absl::Status ended = verifier.check(digest_, signature, signer.certificate());
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
}

TEST_F(SignatureTest, ThatWasCheckedIsBelievedOfItsSignerOnly) {
  rpc::ArtifactSigner tuner(member(Role::kTuner, "ada", *members_));
  rpc::ArtifactSigner viewer(member(Role::kViewer, "vera", *members_));
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box", *members_), clock_);
  const std::string signature = tuner.sign(digest_);
  ASSERT_TRUE(verifier.check(digest_, signature, tuner.certificate()).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(verifier.check(digest_, signature, viewer.certificate())));
}

TEST_F(SignatureTest, CredentialsAreNotLoadedWhereTls12WouldBeSpoken) {
  const auto box = member(Role::kAgent, "box", *members_);
  EXPECT_DEATH(
      {
        unsetenv("GRPC_SSL_CIPHER_SUITES");
        (void)rpc::Credentials::load(box->folder(), clock_);
      },
      "set_grpc_environment");
}

TEST_F(SignatureTest, OfAnybodyElseOrAnythingElseIsNot) {
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box", *members_), clock_);
  rpc::ArtifactSigner tuner(member(Role::kTuner, "ada", *members_));
  rpc::ArtifactSigner viewer(member(Role::kViewer, "vera", *members_));
  ASSERT_TRUE(Authority::make(dir_.file("other"), clock_.now()).ok());
  const auto other = Members::open(dir_.file("other"), clock_);
  rpc::ArtifactSigner foreigner(member(Role::kTuner, "eve", **other));
  const std::string another = sha256("another").hex();
  for (const absl::Status& status :
       {verifier.check(digest_, "", ""), verifier.check(digest_, "", tuner.certificate()),
        verifier.check(digest_, tuner.sign(another), tuner.certificate()),
        verifier.check(digest_, viewer.sign(digest_), viewer.certificate()),
        verifier.check(digest_, foreigner.sign(digest_), foreigner.certificate()),
        verifier.check(digest_, tuner.sign(digest_), viewer.certificate())}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is not loaded"));
  }
}

}  // namespace
}  // namespace tf::tracker
