#include "tuner/cli/local_user.h"

#include "rpc/identity/identity.h"

namespace tf::tuner_cli {
namespace {

TEST(LocalUser, IsANameThatATunerTakesOrNone) {
  const std::string name = local_user();
  EXPECT_TRUE(name.empty() || rpc::check_identity_name(name).ok()) << name;
}

}  // namespace
}  // namespace tf::tuner_cli
