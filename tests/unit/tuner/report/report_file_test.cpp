#include "tuner/report/report_file.h"

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "proto/kernel/v1/kernel.pb.h"
#include "tests/unit/tuner/report/sample_report.h"

namespace tf::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Says what it was asked; fails for schedules with a 3 in them.
class EchoBuilder final : public driver::Builder {
 public:
  absl::StatusOr<tunefarm::kernel::v1::BuildReply> build(
      const tunefarm::kernel::v1::BuildRequest& request) override {
    ++builds;
    tunefarm::kernel::v1::BuildReply reply;
    const std::string& schedule = request.show().kernel().schedule();
    if (schedule.find('3') != std::string::npos) {
      reply.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
      reply.set_message("step 1: no such loop");
    }
    reply.set_ir("ir of " + schedule);
    reply.set_assembly(std::string(300'000, 'a') + "\n" + std::string(300'000, 'b') + "\n");
    return reply;
  }
  int slots() const override { return 2; }
  void cancel() override {}
  std::atomic<int> builds = 0;
};

class ReportFileTest : public ReportTest {
 protected:
  void fill() {
    job_ = add_job();
    add_tasks(job_, {{8, 2}, {16, 1}});
    insert(measured(8, 1, 100, 1, job_));
    insert(measured(8, 2, 50, 2, job_));
    insert(measured(16, 4, 10, 3, job_));
  }
  FileContents contents(FileOptions options) {
    const auto made = file_contents(shown_, *store_, options);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *made : FileContents();
  }
  static std::vector<std::string> keys(const FileContents& contents) {
    std::vector<std::string> keys;
    for (const auto& [key, answer] : contents.answers) keys.push_back(key);
    return keys;
  }

  int64_t job_ = 0;
  EchoBuilder builder_;
  Report shown_{*store_, &builder_};
};

TEST_F(ReportFileTest, HasTheAnswersToWhatThePageAsksOfAJob) {
  fill();
  const FileContents made = contents({.job_id = job_, .programs = 1});
  EXPECT_EQ(made.title, "Job 1: net.onnx");
  const std::string large = id(8), small = id(16);
  std::vector<std::string> expected = {"Reports/DescribeJob {\"jobId\":\"1\"}",
                                       "Reports/ListKernels {\"jobId\":\"1\"}",
                                       "Reports/ShowProgram {\"kernelId\":\"" + large + "\"}",
                                       "Reports/ShowProgram {\"kernelId\":\"" + large + "\",\"row\":2}"};
  for (const std::string& kernel : {large, small}) {
    expected.push_back("Reports/DescribeKernel {\"jobId\":\"1\",\"kernelId\":\"" + kernel + "\"}");
    expected.push_back("Reports/ListCandidates {\"jobId\":\"1\",\"kernelId\":\"" + kernel + "\"}");
  }
  EXPECT_THAT(keys(made), testing::UnorderedElementsAreArray(expected));
  const json curves = json::parse(made.answers.at(expected[0]));
  EXPECT_EQ(curves["jobId"], "1");
  EXPECT_EQ(curves["network"]["ns"], json({110.0}));
  EXPECT_EQ(curves["untunedNetworkNs"], 0.0);  // defaults are there
  const json program = json::parse(made.answers.at(expected[3]));
  EXPECT_EQ(program["ir"], "ir of split(s0, 0, 2)");
  EXPECT_LT(program["assembly"].get<std::string>().size(), 300'100u);
  EXPECT_TRUE(made.left_out.empty());
}

TEST_F(ReportFileTest, HasTheNetworkThatWasKept) {
  fill();
  ASSERT_TRUE(store_
                  ->save_job_network(job_, R"({"calls":[{"kernelId":")" + id(8) +
                                               R"("},{"label":"non\u001bzero","inputs":[1,0,7]}]})")
                  .ok());
  const FileContents made = contents({.job_id = job_, .programs = 0});
  const json answer = json::parse(made.answers.at("Reports/DescribeNetwork {\"jobId\":\"1\"}"));
  EXPECT_EQ(answer["name"], "net.onnx");
  EXPECT_EQ(answer["bestNs"], 110.0);
  EXPECT_EQ(answer["calls"][0]["bestNs"], 50.0);
  EXPECT_NEAR(answer["calls"][0]["share"].get<double>(), 50.0 / 110, 1e-9);
  EXPECT_EQ(answer["calls"][0]["isUntuned"], false);
  EXPECT_EQ(answer["calls"][0]["trials"], 2);
  EXPECT_EQ(answer["calls"][1]["bestNs"], 0.0);
  EXPECT_EQ(answer["calls"][1]["inputs"], json({0}));  // itself and those that follow, it cannot read
  EXPECT_EQ(answer["calls"][1]["label"], "non?zero");
}

TEST_F(ReportFileTest, OfADatabaseWithoutJobsHasAllKernels) {
  insert(measured(8, 1, 100, 1, 0));
  insert(measured(16, 3, 100, 2, 0));
  std::vector<std::pair<size_t, size_t>> told;
  const FileContents made =
      contents({.kernels = 1, .programs = 2, .at_once = 2, .on_program = [&](size_t done, size_t all) {
                  told.emplace_back(done, all);
                }});
  EXPECT_EQ(made.title, "All kernels");
  EXPECT_TRUE(made.answers.contains("Reports/ListKernels {}"));
  EXPECT_TRUE(
      made.answers.contains("Reports/DescribeKernel {\"kernelId\":\"" + id(16) + "\"}"));  // the latest
  EXPECT_FALSE(made.answers.contains("Reports/DescribeKernel {\"kernelId\":\"" + id(8) + "\"}"));
  EXPECT_THAT(made.left_out, ElementsAre(HasSubstr("the schedule cannot be built: step 1: no such loop")));
  EXPECT_THAT(told, ElementsAre(std::pair(0u, 2u), std::pair(1u, 2u), std::pair(2u, 2u)));
}

TEST_F(ReportFileTest, NothingToReportIsNotFound) {
  EXPECT_EQ(file_contents(shown_, *store_, {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(file_contents(shown_, *store_, {.job_id = 9}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ReportFileTest, ProgramsAreMadeOnce) {
  fill();
  pb::ShowProgramRequest request;
  request.set_kernel_id(id(8));
  request.set_row(2);
  ASSERT_TRUE(shown_.show_program(request).ok());
  ASSERT_TRUE(shown_.show_program(request).ok());
  EXPECT_EQ(builder_.builds, 1);
  request.set_row(3);  // of the other kernel
  const absl::Status foreign = shown_.show_program(request).status();
  EXPECT_EQ(foreign.code(), absl::StatusCode::kInvalidArgument) << foreign;
  EXPECT_THAT(std::string(foreign.message()), HasSubstr(id(16)));
  EXPECT_EQ(report_.show_program(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_row(2);
  EXPECT_EQ(report_.show_program(request).status().code(),
            absl::StatusCode::kFailedPrecondition);  // no builder
}

TEST_F(ReportFileTest, AScheduleThatMeantSomethingElseIsNoProgram) {
  fill();
  database::Measurement old = measured(8, 9, 1, 4, job_);
  old.semantics_version = 77;
  pb::ShowProgramRequest request;
  request.set_kernel_id(id(8));
  request.set_row(static_cast<uint32_t>(insert(old)));
  const absl::Status refused = shown_.show_program(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_EQ(builder_.builds, 0);
}

TEST(ReportPage, HoldsTheAnswersAsDataThatNoBrowserReadsAsMarkup) {
  FileContents contents{.title = "</script><b>", .answers = {{"Reports/X {}", R"({"a":"<!--"})"}}};
  const std::string data = to_json(contents, "0.1.0", 12);
  EXPECT_EQ(json::parse(data)["answers"]["Reports/X {}"]["a"], "<!--");
  EXPECT_EQ(json::parse(data)["title"], contents.title);
  EXPECT_EQ(json::parse(data)["made"], 12);
  const auto page = page_with("<html><head><title>t</title></head><body></body></html>", data);
  ASSERT_TRUE(page.ok()) << page.status();
  const size_t begin = page->find("id=\"tunefarm-report\">"), end = page->find("</script></head>");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string inside = page->substr(begin + 21, end - begin - 21);
  EXPECT_THAT(inside, Not(HasSubstr("<")));
  EXPECT_EQ(json::parse(inside), json::parse(data));
  EXPECT_EQ(page_with("no page", data).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tf::report
