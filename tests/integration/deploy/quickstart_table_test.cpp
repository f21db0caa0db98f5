// The table of the quickstart, from reports of two builds that do not have the same tasks.
#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class QuickstartTable : public ::testing::Test {
 protected:
  // `tasks` and `kernels` are the elements of the arrays in the build's report and in its benchmark.
  void write_build(const std::string& name, const std::string& tasks, const std::string& kernels) {
    ASSERT_TRUE(write_file(folder_.file(name + ".json"), "{\"tasks\": [" + tasks + "]}").ok());
    ASSERT_TRUE(
        write_file(folder_.file("bench." + name + ".1.json"),
                   R"({"median_ms": 2, "min_ms": 1, "peak_gflops": 100, "kernels": [)" + kernels + "]}")
            .ok());
  }
  Ended table() { return run("python3 " + source("quickstart_table.py") + " " + folder_.path()); }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

std::string task(const std::string& label, const std::string& key, const std::string& node,
                 const std::string& in, const std::string& out) {
  return "{\"key\": \"" + key + "\", \"label\": \"" + label +
         "\", \"count\": 1, \"hit\": true, \"nodes\": [\"" + node + "\"], \"in_layouts\": [\"" + in +
         "\"], \"out_layouts\": [\"" + out + "\"]}";
}

std::string kernel(const std::string& name, const std::string& key, int median_ns) {
  return "{\"name\": \"" + name + "\", \"key\": \"" + key +
         "\", \"flops\": 1000, \"median_ns\": " + std::to_string(median_ns) + "}";
}

constexpr const char* kPlain = "";  // row-major
constexpr const char* kBlocked = "0,1,2,3,1:8";

TEST_F(QuickstartTable, ComparesByOperatorWhereTheTasksDiffer) {
  write_build("before",
              task("conv 1x8", "a", "conv1", kPlain, kBlocked) + "," +
                  task("copy 1x8", "b", "conv1 (copy)", kBlocked, kPlain) + "," +
                  task("pool 1x8", "c", "pool1", kPlain, kPlain),
              kernel("conv1", "a", 4000) + "," + kernel("conv1 (copy)", "b", 1000) + "," +
                  kernel("pool1", "c", 3000));
  write_build(
      "after",
      task("conv 1x8 of rows", "d", "conv1", kPlain, kPlain) + "," +
          task("pool 1x8", "c", "pool1", kPlain, kPlain) + "," +
          task("copy 1x9", "e", "pool1 (copy)", kPlain, kBlocked),
      kernel("conv1", "d", 2000) + "," + kernel("pool1", "c", 1500) + "," + kernel("pool1 (copy)", "e", 500));
  const Ended ended = table();
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              ContainsRegex("conv 1x8 of rows .* 4\\.0 us +2\\.0 us +2\\.00x .*out NCHW8c -> row-major"));
  EXPECT_THAT(ended.output, ContainsRegex("pool 1x8 .* 3\\.0 us +1\\.5 us +2\\.00x"));
  EXPECT_THAT(ended.output, ContainsRegex("copy 1x9 .* - +0\\.5 us +- .*only in the tuned build"));
  EXPECT_THAT(ended.output, ContainsRegex("copy 1x8 .* 1\\.0 us +- +- .*only in the untuned build"));
  EXPECT_THAT(ended.output, ContainsRegex("all tasks .* 8\\.0 us +4\\.0 us +2\\.00x"));
  EXPECT_THAT(ended.output, HasSubstr("1 of 3 tasks read or write tensors in another layout"));
}

TEST_F(QuickstartTable, SaysNothingOfLayoutsWhereNoneChanged) {
  const std::string tasks = task("pool 1x8", "c", "pool1", kPlain, kPlain);
  write_build("before", tasks, kernel("pool1", "c", 3000));
  write_build("after", tasks, kernel("pool1", "c", 1500));
  const Ended ended = table();
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, AllOf(HasSubstr("1 of 1 tasks are built from the database"),
                                  Not(HasSubstr("layout")), Not(HasSubstr("only in"))));
}

TEST_F(QuickstartTable, CountsAnOperatorThatSeveralKernelsComputeOnce) {
  const std::string twice = kernel("conv1", "a", 1000) + "," + kernel("conv1", "b", 1000);
  write_build("before", task("conv 1x8", "a", "conv1", kPlain, kPlain), kernel("conv1", "a", 4000));
  write_build(
      "after",
      task("conv 1x8", "a", "conv1", kPlain, kPlain) + "," + task("add 1x8", "b", "conv1", kPlain, kPlain),
      twice);
  const Ended ended = table();
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("conv 1x8 .* 4\\.0 us +2\\.0 us"));
  EXPECT_THAT(ended.output, ContainsRegex("all tasks .* 4\\.0 us +2\\.0 us"));
}

TEST(Quickstart, RefusesArgumentsThatItCannotUseBeforeItInstallsAnything) {
  for (const auto& [arguments, words] : {std::pair("--minutes 0", "--minutes needs a number above 0"),
                                         std::pair("--minutes x", "--minutes 1.5"),
                                         std::pair("--target ''", "as in --target x86_64:cpu=haswell"),
                                         std::pair("--targte host", "unknown argument --targte")}) {
    const Ended ended = run(source("quickstart.sh") + " " + arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.output, HasSubstr(words));
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
}

}  // namespace
}  // namespace tf::deploy_test
