#include "compiler/analysis/shared_memory.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/parse.h"
#include "tests/support/ir/host_memory.h"

namespace tf::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// In a block of 64 threads, with shared a, b and c.
ir::Function in_a_block(const std::string& body) {
  return *ir::parse_function(absl::StrCat(
      "function f(x: f32[64], y: f32[64]) { for g = 0 extent 1 grid_x { for t = 0 extent 64 thread_x { "
      "allocate a: f32[64] shared allocate b: f32[64] shared allocate c: f32[60] shared ",
      body, " } } }"));
}

constexpr char kChain[] =
    "a[t] = x[t] barrier b[t] = a[63 - t] barrier if t < 60 { c[t] = b[t + 4] } barrier if t < 60 { y[t] = "
    "c[59 - t] }";

std::map<std::string, int64_t> offsets_of(const ir::Function& function) {
  std::map<std::string, int64_t> by_name;
  for (const auto& [buffer, offset] : plan_shared_memory(function.body).offsets)
    by_name[buffer->name] = offset;
  return by_name;
}

absl::StatusOr<std::vector<double>> run_at(const ir::Function& function,
                                           const std::map<const ir::BufferNode*, int64_t>& offsets) {
  std::vector<double> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  std::vector<test::Bytes> bytes = {test::encode(ir::Element::kFloat32, values),
                                    test::encode(ir::Element::kFloat32, std::vector<double>(64))};
  std::vector<ir::Memory> memory = {{bytes[0].data(), bytes[0].size()}, {bytes[1].data(), bytes[1].size()}};
  const absl::Status status = ir::interpret(function, memory, {}, {.shared_offsets = &offsets});
  if (!status.ok()) return status;
  return test::decode(ir::Element::kFloat32, bytes[1]);
}

TEST(SharedMemory, IsSharedByWhatIsNotAliveTogether) {
  const ir::Function function = in_a_block(kChain);
  const SharedMemory memory = plan_shared_memory(function.body);
  EXPECT_EQ(memory.bytes, 512);
  EXPECT_THAT(offsets_of(function),
              ElementsAre(testing::Pair("a", 0), testing::Pair("b", 256), testing::Pair("c", 0)));
  const auto got = run_at(function, memory.offsets);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0], 0);
  EXPECT_EQ((*got)[59], 59);
}

TEST(SharedMemory, EndsInTheInterpreterToo) {
  const ir::Function function = in_a_block(kChain);
  std::map<const ir::BufferNode*, int64_t> offsets = plan_shared_memory(function.body).offsets;
  const auto last = std::ranges::find(offsets, "b", [](const auto& each) { return each.first->name; });
  constexpr int64_t kEnd = 256 << 10;
  last->second = kEnd - 256;
  EXPECT_TRUE(run_at(function, offsets).ok());
  last->second = kEnd - 252;
  EXPECT_EQ(run_at(function, offsets).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SharedMemory, IsNotSharedWithoutABarrierInBetween) {
  const std::string chain = kChain;
  const ir::Function function =
      in_a_block("a[t] = x[t] b[t] = a[t] c[t // 2] = x[t] where t % 2 == 0 barrier y[t] = b[t] + c[t // 2]");
  EXPECT_EQ(plan_shared_memory(function.body).bytes, 256 + 256 + 240);
  // A barrier that only some iterations reach parts nothing.
  EXPECT_EQ(plan_shared_memory(in_a_block("a[t] = x[t] barrier b[t] = a[63 - t] for k = 0 extent t - t { "
                                          "barrier } c[t // 2] = 1f32 where "
                                          "t % 2 == 0 barrier y[t] = b[t] + c[t // 2]")
                                   .body)
                .bytes,
            256 + 256 + 240);
}

TEST(SharedMemory, OfALoopIsSharedOverItsBackEdge) {
  const auto in_loop = [](const char* last) {
    return in_a_block(absl::StrCat(
        "for k = 0 extent 3 { a[t] = x[t] barrier b[t] = a[63 - t] barrier c[t // 2] = b[t] where t % "
        "2 == 0 barrier y[t] = c[t // 2] ",
        last, " }"));
  };
  // Around the loop, all of them live as long as it runs.
  EXPECT_EQ(plan_shared_memory(in_loop("barrier").body).bytes, 256 + 256 + 240);
  const auto allocated_in_loop = [](const char* last) {
    return *ir::parse_function(
        absl::StrCat("function f(x: f32[64], y: f32[64]) { for t = 0 extent 64 thread_x { for k = 0 extent 3 "
                     "{ allocate a: f32[64] shared "
                     "allocate b: f32[64] shared allocate c: f32[64] shared a[t] = x[t] barrier b[t] = a[63 "
                     "- t] barrier c[t] = b[t] "
                     "barrier y[t] = c[t] ",
                     last, " } } }"));
  };
  EXPECT_EQ(plan_shared_memory(allocated_in_loop("").body).bytes, 3 * 256);
  const ir::Function function = allocated_in_loop("barrier");
  const SharedMemory memory = plan_shared_memory(function.body);
  EXPECT_EQ(memory.bytes, 2 * 256);
  EXPECT_TRUE(run_at(function, memory.offsets).ok());
}

// The interpreter finds what a plan does wrong.
TEST(SharedMemory, ThatIsWronglySharedShows) {
  const ir::Function function = in_a_block(kChain);
  std::map<const ir::BufferNode*, int64_t> wrong = plan_shared_memory(function.body).offsets;
  for (auto& [buffer, offset] : wrong) offset = buffer->name == "a" ? 0 : 128;
  EXPECT_THAT(std::string(run_at(function, wrong).status().message()),
              HasSubstr("over another buffer that was in use, with no barrier in between"));
  const ir::Function later = in_a_block("a[t] = x[t] barrier b[t] = a[t] barrier y[t] = a[63 - t]");
  std::map<const ir::BufferNode*, int64_t> dead = plan_shared_memory(later.body).offsets;
  for (auto& [buffer, offset] : dead) offset = 0;
  EXPECT_FALSE(run_at(later, dead).ok());
}

}  // namespace
}  // namespace tf::analysis
