#include "rpc/access/bearer_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/support/fake_clock.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CheckMayIssue, AdminsForEveryPersonAndOthersForThemselves) {
  const Identity admin = {Role::kAdmin, "root"}, ada = {Role::kUser, "ada"};
  for (const Role role : {Role::kViewer, Role::kUser, Role::kDeviceOwner, Role::kBuild, Role::kAdmin})
    EXPECT_TRUE(check_may_issue(admin, {role, "bob"}).ok());
  for (const Role role : {Role::kTuner, Role::kAgent, Role::kTracker})
    EXPECT_TRUE(absl::IsInvalidArgument(check_may_issue(admin, {role, "bob"})));
  EXPECT_TRUE(check_may_issue(ada, ada).ok());
  EXPECT_TRUE(check_may_issue(ada, {Role::kViewer, "ada"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(check_may_issue(ada, {Role::kUser, "bob"})));
  EXPECT_TRUE(absl::IsPermissionDenied(check_may_issue(ada, {Role::kViewer, "bob"})));
  EXPECT_TRUE(absl::IsPermissionDenied(check_may_issue(ada, {Role::kAdmin, "ada"})));
  EXPECT_EQ(check_may_issue({Role::kViewer, "vic"}, {Role::kAdmin, "vic"}).message(),
            "viewer vic may issue tokens for themselves only, as viewer; an admin issues others");
  EXPECT_TRUE(absl::IsInvalidArgument(check_may_issue(admin, {Role::kViewer, "a b"})));
}

TEST(BearerTokens, DamagedFileIsAnErrorThatSaysWhatToDo) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  for (const char* text :
       {"", "{", "{}", "{\"tokens\":3}", "{\"tokens\":[{}]}", "{\"tokens\":[{\"digest\":\"x\"}]}"}) {
    ASSERT_TRUE(write_file(folder.file("t"), text).ok());
    const absl::Status status = BearerTokens::open(folder.file("t")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("`tuner token`"));
  }
}

TEST(BearerTokens, MalformedTextsAreUnknown) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto tokens = *BearerTokens::open(folder.file("t"));
  for (const std::string& text :
       std::vector<std::string>{"", "tft-", "tft-00", std::string(1 << 20, 'x'), "\xff"})
    EXPECT_TRUE(absl::IsUnauthenticated(tokens->find(text).status()));
}

}  // namespace
}  // namespace tf::rpc
