#include "base/remedy.h"

#include <gtest/gtest.h>

#include "base/status.h"

namespace tf {
namespace {

absl::Status full() {
  return with_remedy(absl::StatusCode::kResourceExhausted, "/x is full: 3 of 3 MiB", "make room");
}

TEST(Remedy, IsThePartOfTheMessageThatSaysWhatToDo) {
  EXPECT_EQ(full().message(), "/x is full: 3 of 3 MiB: make room");
  EXPECT_TRUE(absl::IsResourceExhausted(full()));
  const Trouble trouble = trouble_of(full());
  EXPECT_EQ(trouble.truth, "/x is full: 3 of 3 MiB");
  EXPECT_EQ(trouble.remedy, "make room");
}

TEST(Remedy, FollowsASemicolonWhereTheTruthHasAColon) {
  const absl::Status empty = with_remedy(absl::StatusCode::kFailedPrecondition, "cannot read /x: it is empty",
                                         "give another", Between::kSemicolon);
  EXPECT_EQ(empty.message(), "cannot read /x: it is empty; give another");
  EXPECT_EQ(trouble_of(empty).truth, "cannot read /x: it is empty");
  EXPECT_EQ(trouble_of(empty).remedy, "give another");
}

TEST(Remedy, GoesWithTheErrorFromCallToCall) {
  const auto caller = []() -> absl::Status {
    TF_RETURN_IF_ERROR(full());
    return absl::OkStatus();
  };
  EXPECT_EQ(trouble_of(caller()).remedy, "make room");
}

TEST(Remedy, IsMissingWhereAnErrorIsOfAnotherKind) {
  const Trouble trouble = trouble_of(absl::NotFoundError("no file /x: make room"));
  EXPECT_EQ(trouble.truth, "no file /x: make room");
  EXPECT_EQ(trouble.remedy, "");
}

TEST(Remedy, LogSaysItOnce) {
  EXPECT_EQ(code_and_message(full()), "RESOURCE_EXHAUSTED: /x is full: 3 of 3 MiB: make room");
  EXPECT_EQ(code_and_message(absl::UnimplementedError("")), "UNIMPLEMENTED");
  EXPECT_EQ(code_and_message(absl::OkStatus()), "OK");
}

}  // namespace
}  // namespace tf
