// Built models that gather: indices are checked in each run.
#include <gmock/gmock.h>

#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/unit/compiler/driver/built_model.h"
#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::driver {
namespace {

using graph::HostTensor;
using testing::HasSubstr;

HostTensor whole(tensor::Element element, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& values) {
  return {"i", element, shape, std::make_shared<const graph::Blob>(graph::write_integers(element, values))};
}

class GatherRun : public BuiltModel {
 protected:
  // The only output for indices that are the only input, as a model and by the reference evaluation.
  std::vector<double> computed(const HostTensor& indices) {
    const absl::StatusOr<std::vector<HostTensor>> got = model_->run({indices});
    EXPECT_TRUE(got.ok()) << got.status();
    const absl::StatusOr<std::vector<HostTensor>> want = graph::evaluate(network_, {indices});
    EXPECT_TRUE(want.ok()) << want.status();
    if (!got.ok() || !want.ok()) return {};
    const std::vector<double> values = graph::read_floats((*got)[0].element, (*got)[0].data->bytes());
    EXPECT_EQ(values, graph::read_floats((*want)[0].element, (*want)[0].data->bytes()));
    return values;
  }
  void expect_refused(const HostTensor& indices, const std::string& index) {
    const absl::Status run = model_->run({indices}).status();
    EXPECT_EQ(run.code(), absl::StatusCode::kOutOfRange) << run;
    EXPECT_THAT(std::string(run.message()), HasSubstr("outside the axis"));
    const absl::Status evaluated = graph::evaluate(network_, {indices}).status();
    EXPECT_EQ(evaluated.code(), absl::StatusCode::kOutOfRange) << evaluated;
    EXPECT_THAT(std::string(evaluated.message()),
                HasSubstr("'g': index " + index + " lies outside axis 0, whose size"));
  }
  void make(const std::string& body, int threads) {
    network_ = graph::parsed(body);
    auto model = build(network_, threads);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  graph::Graph network_;
  std::unique_ptr<LoadedModel> model_;
};

TEST_F(GatherRun, TakesEveryIndexOfTheAxisAndRefusesOthers) {
  for (int threads : {1, 2}) {
    make(R"(
    n0 = input() "i" : i64[3]
    n1 = constant(0f32, 10f32, 20f32, 30f32) "table" : f32[4]
    n2 = gather(n1, n0; axis=0) "g" : f32[3]
    n3 = neg(n2) "n" : f32[3]
    output "y" = n3
)",
         threads);
    const auto indices = [](const std::vector<int64_t>& values) {
      return whole(tensor::Element::kInt64, {3}, values);
    };
    EXPECT_EQ(computed(indices({0, 3, 1})), (std::vector<double>{0, -30, -10}));
    EXPECT_EQ(computed(indices({-1, -4, 2})), (std::vector<double>{-30, 0, -20}));
    expect_refused(indices({0, 4, 1}), "4");
    expect_refused(indices({0, 1, -5}), "-5");
    expect_refused(indices({INT64_MAX, 1, 2}), "9223372036854775807");
    expect_refused(indices({INT64_MIN, 1, 2}), "-9223372036854775808");
    EXPECT_EQ(computed(indices({1, 1, 1})), (std::vector<double>{-10, -10, -10}))
        << "a refused run leaves nothing";
  }
}

TEST_F(GatherRun, ChecksIndicesThatAreComputedOrNarrow) {
  make(R"(
    n0 = input() "i" : i32[2, 2]
    n1 = constant(1i32) "one" : i32[]
    n2 = add(n0, n1) "next" : i32[2, 2]
    n3 = constant(0f32, 10f32, 20f32, 30f32, 40f32, 50f32) "table" : f32[3, 2]
    n4 = gather(n3, n2; axis=0) "g" : f32[2, 2, 2]
    output "y" = n4
)",
       1);
  const auto indices = [](const std::vector<int64_t>& values) {
    return whole(tensor::Element::kInt32, {2, 2}, values);
  };
  EXPECT_EQ(computed(indices({-1, 0, 1, -2})), (std::vector<double>{0, 10, 20, 30, 40, 50, 40, 50}));
  expect_refused(indices({0, 0, 0, 2}), "3");
  expect_refused(indices({0, -5, 0, 0}), "-4");
}

TEST_F(GatherRun, ChecksIndicesOfRankFour) {
  make(R"(
    n0 = input() "i" : i32[1, 17, 2, 2]
    n1 = neg(n0) "n" : i32[1, 17, 2, 2]
    n2 = constant(0f32, 10f32, 20f32) "table" : f32[3]
    n3 = gather(n2, n1; axis=0) "g" : f32[1, 17, 2, 2]
    output "y" = n3
)",
       2);
  std::vector<int64_t> values(68);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 5) - 1;
  for (int64_t& value : values) value = std::min<int64_t>(value, 2);
  const std::vector<double> got = computed(whole(tensor::Element::kInt32, {1, 17, 2, 2}, values));
  ASSERT_EQ(got.size(), 68u);
  EXPECT_EQ(got[0], 10);
  values[67] = 4;
  expect_refused(whole(tensor::Element::kInt32, {1, 17, 2, 2}, values), "-4");
}

TEST_F(GatherRun, DrawsRandomIndicesInsideTheAxis) {
  make(R"(
    n0 = input() "i" : i64[64]
    n1 = cast(n0; element=i32) "c" : i32[64]
    n2 = reshape(n1; extents=[8, 8]) "r" : i32[8, 8]
    n3 = constant(0f32, 10f32) "table" : f32[2]
    n4 = gather(n3, n2; axis=0) "g" : f32[8, 8]
    output "y" = n4
)",
       1);
  EXPECT_EQ(model_->index_extents(), std::vector<int64_t>{2});
  const std::vector<double> got = computed(random_inputs(*model_, 1)[0]);
  EXPECT_THAT(got, testing::AllOf(testing::Contains(0), testing::Contains(10)));
}

TEST_F(GatherRun, RefusesAConstantIndexOutsideTheAxisWhenItIsBuilt) {
  const auto model = build(graph::parsed(R"(
    n0 = input() "x" : f32[4]
    n1 = constant(0i64, 4i64) "i" : i64[2]
    n2 = gather(n0, n1; axis=0) "g" : f32[2]
    output "y" = n2
)"));
  EXPECT_EQ(model.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(model.status().message()),
              HasSubstr("'g': index 4 lies outside axis 0, whose size is 4"));
}

}  // namespace
}  // namespace tf::driver
