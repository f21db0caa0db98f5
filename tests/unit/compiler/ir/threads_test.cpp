// What the interpreter watches where threads run side by side: races, reads of what nobody wrote, asynchronous copies.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/parse.h"
#include "gmock/gmock.h"
#include "tests/support/ir/host_memory.h"

namespace tf::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tf::test::Bytes;

using Values = std::vector<std::vector<double>>;

struct Outcome {
  absl::Status status;
  std::vector<double> last;
};

Outcome run_mode(std::string_view text, const Values& params, bool late) {
  const absl::StatusOr<Function> function = parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  if (!function.ok()) return {function.status(), {}};
  std::vector<Bytes> bytes;
  std::vector<Memory> memory;
  for (size_t i = 0; i < params.size(); ++i)
    bytes.push_back(test::encode(function->params[i]->element, params[i]));
  for (Bytes& each : bytes) memory.push_back({each.data(), each.size()});
  const absl::Status status = interpret(*function, memory, {}, {.copies_land_late = late});
  return {status, test::decode(function->params.back()->element, bytes.back())};
}

// Both ways for copies to arrive must agree.
Outcome run_watched(std::string_view text, const Values& params) {
  Outcome late = run_mode(text, params, true);
  const Outcome at_once = run_mode(text, params, false);
  EXPECT_EQ(late.status, at_once.status);
  if (late.status.ok()) {
    EXPECT_EQ(late.last, at_once.last);
  }
  return late;
}

// In a block of four threads, with `s` shared and `mine` of one thread.
std::string in_a_block(const std::string& body) {
  return absl::StrCat(
      "function f(a: i64[8], b: i64[8]) { for g = 0 extent 1 grid_x { allocate s: i64[8] shared "
      "for t = 0 extent 4 thread_x { allocate mine: i64[4] register ",
      body, " } } }");
}

std::string fault(const std::string& text) {
  const absl::Status status = run_watched(text, {{0, 1, 2, 3, 4, 5, 6, 7}, std::vector<double>(8)}).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status << "\n" << text;
  return std::string(status.message());
}

std::vector<double> answer(const std::string& text) {
  const Outcome outcome = run_watched(text, {{0, 1, 2, 3, 4, 5, 6, 7}, std::vector<double>(8)});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status << "\n" << text;
  return outcome.last;
}

TEST(Threads, HaveArraysOfScopeGlobalForThemselves) {
  EXPECT_THAT(answer(in_a_block("allocate own: i64[2] own[0] = t own[1] = 7 barrier b[t] = own[0]")),
              ElementsAre(0, 1, 2, 3, 0, 0, 0, 0));
}

TEST(Threads, RaceWhereNoBarrierParts) {
  EXPECT_THAT(
      fault(in_a_block("s[t] = t b[t] = s[t // 2]")),
      HasSubstr("race: thread (1, 0, 0) reads element s[0], which thread (0, 0, 0) wrote with no barrier"));
  EXPECT_THAT(
      fault(in_a_block("s[t] = t barrier b[t] = s[(t + 1) % 4] s[t] = 5")),
      HasSubstr("race: thread (0, 0, 0) writes element s[0], which thread (3, 0, 0) read with no barrier "
                "in between at g=0, t=0"));
  EXPECT_THAT(
      fault(in_a_block("s[t] = t barrier s[t // 2] = t")),
      HasSubstr("race: thread (1, 0, 0) writes element s[0], which thread (0, 0, 0) wrote with no barrier"));
  EXPECT_THAT(fault(in_a_block("if t == 3 { b[0] = 1 } if t == 0 { b[0] = 1 }")), HasSubstr("race: thread"));
}

TEST(Threads, RaceAroundTheBackEdgeOfALoop) {
  const char* text =
      "for k = 0 extent 2 { allocate r: i64[4] shared r[t] = t + k barrier b[t] = r[3 - t] $0 }";
  EXPECT_THAT(fault(in_a_block(absl::StrReplaceAll(text, {{"$0", ""}}))), HasSubstr("read with no barrier"));
  EXPECT_THAT(answer(in_a_block(absl::StrReplaceAll(text, {{"$0", "barrier"}}))),
              ElementsAre(4, 3, 2, 1, 0, 0, 0, 0));
}

TEST(Threads, OfTwoBlocksRaceInOneLaunchOnly) {
  EXPECT_THAT(
      fault("function f(a: i64[8], b: i64[8]) { for g = 0 extent 2 grid_x { for t = 0 extent 4 thread_x { "
            "b[t] = g } } }"),
      HasSubstr("race: thread (0, 0, 0) writes element b[0], which thread (0, 0, 0) of another block of the "
                "launch wrote at g=1, t=0"));
  EXPECT_THAT(
      fault("function f(a: i64[8], b: i64[8]) { for g = 0 extent 2 grid_x { for t = 0 extent 4 thread_x { "
            "b[g * 4 + t] = b[t] + 1 } } }"),
      HasSubstr("of another block"));
  EXPECT_THAT(
      answer("function f(a: i64[8], b: i64[8]) { allocate w: i64[8] for g = 0 extent 2 grid_x { for t = 0 "
             "extent 4 thread_x { w[g * 4 + t] = a[g * 4 + t] } } for t = 0 extent 8 thread_x { b[t] = w[7 "
             "- t] } }"),
      ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
}

TEST(Threads, MustWriteWhatResultsAreMadeOf) {
  EXPECT_THAT(
      fault(in_a_block("mine[0] = 1 mine[1] = mine[0] + mine[2] b[t] = mine[1]")),
      HasSubstr(
          "thread (0, 0, 0) writes a value that is made of what nobody wrote to element b[0] at g=0, t=0"));
  EXPECT_THAT(fault(in_a_block("s[t] = 1 barrier b[t] = s[t + 4]")), HasSubstr("nobody wrote"));
  EXPECT_THAT(fault(in_a_block("if mine[0] < 0 { b[t] = 1 }")),
              HasSubstr("thread (0, 0, 0) takes a branch by what nobody wrote"));
  EXPECT_THAT(fault(in_a_block("b[t] = a[mine[0] % 2]")),
              HasSubstr("takes an index of a from what nobody wrote"));
  EXPECT_THAT(fault(in_a_block("b[t] = 1 where mine[0] < 0")), HasSubstr("decides whether to write to b"));
  // The side of a select that is not taken does not count, nor what is loaded and then not used, as lanes that reach over.
  EXPECT_THAT(answer(in_a_block("mine[0] = 3 let x = mine[1] b[t] = select(t < 4, mine[0], x)")),
              ElementsAre(3, 3, 3, 3, 0, 0, 0, 0));
  EXPECT_THAT(answer(in_a_block("mine[0] = 3 mine[ramp(2, 1, 2)] = mine[ramp(0, 1, 2)] b[t] = mine[2]")),
              ElementsAre(3, 3, 3, 3, 0, 0, 0, 0));
}

TEST(Threads, WaitForTheCopiesThatTheyRead) {
  const auto copies = [](const char* between, const char* index) {
    return in_a_block(absl::StrCat("async_copy s[t * 2] from a[t * 2] elements 2 where t < 3 ", between,
                                   " b[t] = s[", index, "]"));
  };
  EXPECT_THAT(answer(copies("async_wait 0 barrier", "7 - t")), ElementsAre(0, 0, 5, 4, 0, 0, 0, 0));
  EXPECT_THAT(answer(copies("async_wait 0", "t * 2 + 1")), ElementsAre(1, 3, 5, 0, 0, 0, 0, 0));
  EXPECT_THAT(fault(copies("async_wait 0", "7 - t")), HasSubstr("nobody wrote"));
  EXPECT_THAT(fault(copies("barrier", "t * 2")),
              HasSubstr("thread (0, 0, 0) reads element s[0], which an asynchronous copy still moves"));
  EXPECT_THAT(fault(copies("async_wait 1 barrier", "t * 2")), HasSubstr("still moves"));
  EXPECT_THAT(fault(copies("barrier s[t] = 1 async_wait 0", "t")), HasSubstr("writes element s[0]"));
  EXPECT_THAT(fault(in_a_block("async_copy s[t] from a[t] elements 1 a[t] = 9 async_wait 0")),
              HasSubstr("the source of an asynchronous copy was overwritten"));
  EXPECT_THAT(fault(in_a_block("async_copy s[t] from a[t] elements 1")),
              HasSubstr("an asynchronous copy into s is in flight when its memory ends"));
}

// a is a tensor of 2 x 4; what of the box is outside is zeros.
TEST(Threads, GetBoxesFromTheFirst) {
  const std::string copy = "async_copy s[0] from a[1, 2] elements 8 box 2 of 2 box 4 of 4 ";
  EXPECT_THAT(answer(in_a_block(copy + "async_wait 0 barrier b[t] = s[t]")),
              ElementsAre(6, 7, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(fault(in_a_block(copy + "async_wait 0 b[t] = s[t]")), HasSubstr("thread (1, 0, 0)"));
  EXPECT_THAT(fault(in_a_block(copy + "barrier b[t] = s[t]")), HasSubstr("still moves"));
}

TEST(Threads, WaitForTheOldestGroupsOfCopies) {
  EXPECT_THAT(
      answer(in_a_block("async_copy s[t] from a[t] elements 1 async_wait 1 async_copy s[t + 4] from a[t] "
                        "elements 1 async_wait 1 b[t] = s[t] async_wait 0")),
      ElementsAre(0, 1, 2, 3, 0, 0, 0, 0));
  EXPECT_THAT(
      fault(in_a_block("async_copy s[t] from a[t] elements 1 async_wait 1 async_copy s[t + 4] from a[t] "
                       "elements 1 async_wait 1 b[t] = s[t + 4] async_wait 0")),
      HasSubstr("still moves"));
}

// A fragment is its warp's, whichever thread loop is outside.
TEST(Threads, OfAWarpShareAFragment) {
  const char* text =
      "function f(a: i64[64], b: i64[64]) { for y = 0 extent 2 thread_y { for x = 0 extent 32 thread_x { "
      "allocate part: i64[32] fragment part[x] = a[y * 32 + x] barrier b[y * 32 + x] = part[31 - x] } } }";
  std::vector<double> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Outcome outcome = run_watched(text, {values, std::vector<double>(64)});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(outcome.last[i], i < 32 ? 31. - static_cast<double>(i) : 95. - static_cast<double>(i));
}

}  // namespace
}  // namespace tf::ir
