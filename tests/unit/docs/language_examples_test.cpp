// The examples of docs/reference/languages go through the real parsers, and the pages miss no construct.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/graph/text.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/kind.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"
#include "tests/unit/docs/fenced_examples.h"

namespace tf {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "docs/reference/languages/";

std::vector<test::Example> examples_of(const std::string& page) {
  return test::fenced_examples(test::read_page(kFolder + page));
}

// Collects the kinds of statements.
class Kinds : public ir::Visitor {
 public:
  std::set<ir::StmtKind> seen;

 protected:
  bool enter(const ir::Stmt& stmt) override {
    seen.insert(stmt->kind());
    return true;
  }
};

tensor::Workload bound(const tensor::Workload& workload) {
  tensor::Binding binding;
  for (const tensor::Dimension& dim : workload.dims) binding[dim.var->name] = dim.high;
  return tensor::bind(workload, binding).value();
}

TEST(LanguagePages, TargetsAreCanonical) {
  int targets = 0;
  for (const test::Example& example : examples_of("target.md")) {
    if (example.language != "target") continue;
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(example.text, '\n', absl::SkipEmpty()))) {
      const absl::StatusOr<target::Target> target = target::parse_target(line);
      ASSERT_TRUE(target.ok()) << target.status();
      EXPECT_EQ(target->text(), line);
      ++targets;
    }
  }
  EXPECT_GE(targets, 5);
}

TEST(LanguagePages, TargetsNameEveryArchitecture) {
  const std::string page = test::read_page(std::string(kFolder) + "target.md");
  for (int arch = 0; arch <= static_cast<int>(target::Arch::kOpenCl); ++arch)
    EXPECT_THAT(page, HasSubstr(absl::StrCat(
                          "\"", std::string(target::arch_name(static_cast<target::Arch>(arch))), "\"")));
}

TEST(LanguagePages, WorkloadsParseAndTheFirstIsCanonical) {
  int workloads = 0;
  for (const test::Example& example : examples_of("workload.md")) {
    if (example.language != "workload") continue;
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(example.text);
    ASSERT_TRUE(workload.ok()) << "line " << example.line << ": " << workload.status();
    if (workloads++ == 0) {
      EXPECT_EQ(tensor::canonical_text(*workload), example.text);
    }
  }
  EXPECT_GE(workloads, 2);
}

// Each schedule is for the workload before it.
TEST(LanguagePages, SchedulesAreLegalAndShowEveryStep) {
  std::optional<tensor::Workload> workload;
  std::set<std::string> shown;
  for (const test::Example& example : examples_of("schedule.md")) {
    if (example.language == "workload") {
      const absl::StatusOr<tensor::Workload> parsed = tensor::parse_workload(example.text);
      ASSERT_TRUE(parsed.ok()) << "line " << example.line << ": " << parsed.status();
      workload = bound(*parsed);
    }
    if (example.language != "schedule") continue;
    const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(example.text);
    ASSERT_TRUE(schedule.ok()) << "line " << example.line << ": " << schedule.status();
    EXPECT_EQ(schedule::to_string(*schedule), example.text);
    ASSERT_TRUE(workload);
    const absl::Status applied = schedule::apply(*workload, *schedule).status();
    EXPECT_TRUE(applied.ok()) << "line " << example.line << ": " << applied;
    for (const schedule::Step& step : schedule->steps) {
      const std::string text = schedule::to_string(step);
      shown.insert(text.substr(0, text.find(' ')));
    }
  }
  EXPECT_EQ(shown.size(), std::variant_size_v<schedule::Step>) << "a step is in no example";
  const std::string page = test::read_page(std::string(kFolder) + "schedule.md");
  for (const std::string& step : shown) EXPECT_THAT(page, HasSubstr("\n| `" + step + " "));
}

TEST(LanguagePages, LoopIrIsLegalAndShowsEveryStatement) {
  Kinds shown;
  for (const test::Example& example : examples_of("loop-ir.md")) {
    if (example.language != "loop-ir") continue;
    const absl::StatusOr<ir::Function> function = ir::parse_function(example.text);
    ASSERT_TRUE(function.ok()) << "line " << example.line << ": " << function.status();
    const absl::Status legal = ir::verify(*function);
    EXPECT_TRUE(legal.ok()) << "line " << example.line << ": " << legal;
    shown(function->body);
  }
#define TF_EXPECT_SHOWN(name) EXPECT_TRUE(shown.seen.contains(ir::StmtKind::k##name)) << #name;
  TF_STMT_KINDS(TF_EXPECT_SHOWN)
#undef TF_EXPECT_SHOWN
}

TEST(LanguagePages, GraphsParse) {
  int graphs = 0;
  for (const test::Example& example : examples_of("graph.md")) {
    if (example.language != "graph") continue;
    const absl::StatusOr<graph::Graph> graph = graph::parse_graph(example.text, nullptr);
    ASSERT_TRUE(graph.ok()) << "line " << example.line << ": " << graph.status();
    EXPECT_EQ(graph::to_string(*graph), example.text);
    ++graphs;
  }
  EXPECT_GE(graphs, 1);
}

TEST(LanguagePages, GraphsNameEveryElementwiseOperatorAndReduction) {
  const std::string page = test::read_page(std::string(kFolder) + "graph.md");
  const auto expect_named = [&](const auto& names) {
    for (const std::string_view name : names) EXPECT_THAT(page, HasSubstr("`" + std::string(name) + "`"));
  };
  expect_named(ops::kUnaryNames);
  expect_named(ops::kBinaryNames);
  expect_named(ops::kReduceNames);
}

}  // namespace
}  // namespace tf
