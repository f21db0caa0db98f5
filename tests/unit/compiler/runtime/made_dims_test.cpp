// Models whose steps make dimensions during a run, linked as built models are.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/runtime/model.h"
#include "tests/unit/compiler/runtime/linked_library.h"
#include "tests/unit/compiler/runtime/sized_models.h"

namespace tf::runtime {
namespace {

const LibraryOptions kFinding = {.kernels = "sized_kernels.c"};

struct Found {
  std::vector<int64_t> places;
  std::vector<float> y, z;

  bool operator==(const Found&) const = default;
};

// What found_model makes of x.
Found found_in(const std::vector<float>& x) {
  const float shift = x.size() == 4 ? 3 : 1;
  Found found;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0) continue;
    found.places.push_back(static_cast<int64_t>(i));
    found.y.push_back(x[i] - shift);
    if (found.y.back() != 0) found.z.push_back(2 * found.y.back());
  }
  return found;
}

class FoundModel {
 public:
  explicit FoundModel(const ModelDescription& description) : library_(*encode_model(description), kFinding) {
    EXPECT_EQ(GET(library_, tf_model_open)(2, &model_), TF_MODEL_OK);
  }
  ~FoundModel() { GET(library_, tf_model_close)(model_); }
  FoundModel(const FoundModel&) = delete;
  FoundModel& operator=(const FoundModel&) = delete;

  // The input lies `shift` floats after an aligned place.
  int32_t run(const std::vector<float>& x, Found& found, size_t shift = 0) {
    alignas(TF_ALIGNMENT) float memory[kMostFound + 1];
    std::ranges::copy(x, memory + shift);
    const int64_t extents[] = {static_cast<int64_t>(x.size())};
    const tf_tensor input = {memory + shift, extents};
    tf_tensor outputs[3];
    if (int32_t error = GET(library_, tf_model_run_sizes)(model_, &input, outputs); error != TF_MODEL_OK)
      return error;
    EXPECT_EQ(outputs[0].extents[0], 1);
    const auto* places = static_cast<const int64_t*>(outputs[0].data);
    const auto *y = static_cast<const float*>(outputs[1].data),
               *z = static_cast<const float*>(outputs[2].data);
    found = {{places, places + outputs[0].extents[1]},
             {y, y + outputs[1].extents[0]},
             {z, z + outputs[2].extents[0]}};
    return TF_MODEL_OK;
  }
  int32_t run_at_greatest(const void* x, std::vector<void*> outputs) {
    return GET(library_, tf_model_run)(model_, &x, outputs.data());
  }

  void expect_right(const std::vector<float>& x) {
    for (const size_t shift : {0, 1}) {
      Found found;
      ASSERT_EQ(run(x, found, shift), TF_MODEL_OK);
      EXPECT_EQ(found, found_in(x)) << testing::PrintToString(x);
    }
  }

 private:
  const Library library_;
  tf_model* model_ = nullptr;
};

TEST(MadeDims, HaveTheValuesThatStepsLeave) {
  FoundModel model(found_model());
  for (const std::vector<float>& x : std::vector<std::vector<float>>{{5, 0, 1, 0, 7, 2},
                                                                     {0, 0, 0, 0, 0},
                                                                     {1, 2, 3, 4, 5, 6, 7, 8},
                                                                     {1, 1, 1},
                                                                     {},
                                                                     {0, 0, 0, 0, 0, 0, 0, 9},
                                                                     {5, 0, 1, 0, 7, 2}}) {
    model.expect_right(x);
  }
}

TEST(MadeDims, AreMadeInVariants) {
  FoundModel model(found_model());
  model.expect_right({3, 0, 7, 5});
  model.expect_right({0, 0, 0, 0});
  model.expect_right({4, 3, 1});
  model.expect_right({1, 2, 3, 4});
}

TEST(MadeDims, AreAsManyAsWereMadeInOutputsOfTheGreatestSizes) {
  FoundModel model(found_model());
  alignas(TF_ALIGNMENT) const float x[] = {0, 4, 1, 0, 0, 6, 0, 1};
  const Found right = found_in({x, x + kMostFound});
  for (const size_t shift : {0, 1}) {
    alignas(TF_ALIGNMENT) int64_t places[kMostFound + 1];
    alignas(TF_ALIGNMENT) float y[kMostFound + 1], z[kMostFound + 1];
    ASSERT_EQ(model.run_at_greatest(x, {places + shift, y + shift, z + shift}), TF_MODEL_OK);
    EXPECT_TRUE(std::equal(right.places.begin(), right.places.end(), places + shift));
    EXPECT_TRUE(std::equal(right.y.begin(), right.y.end(), y + shift));
    EXPECT_TRUE(std::equal(right.z.begin(), right.z.end(), z + shift));
  }
}

TEST(MadeDims, OutOfRangeFailTheRunAndLeaveTheNextRight) {
  ModelDescription description = found_model();
  description.dims[1].low = 1;
  description.dims[2].high = 2;
  FoundModel model(description);
  const std::vector<float> good = {0, 2, 3, 1, 0}, none(5), too_many = {2, 3, 4, 0, 0};
  model.expect_right(good);
  Found found;
  EXPECT_EQ(model.run(none, found), TF_MODEL_BAD_SIZE);
  model.expect_right(good);
  EXPECT_EQ(model.run(too_many, found), TF_MODEL_BAD_SIZE);
  EXPECT_EQ(model.run(too_many, found), TF_MODEL_BAD_SIZE);
  model.expect_right(good);
}

TEST(MadeDims, MoveTheBuffersOfLaterSteps) {
  ModelDescription
      description;  // y := 10 or 20, which lie at 0 and 64, whichever the made dimension points to
  description.inputs = {{.name = "x",
                         .element = TF_ELEMENT_FLOAT32,
                         .extents = {Sized(1, dim(0))},
                         .size_bytes = Sized(4, number(4) * dim(0))}};
  description.outputs = {{.name = "y", .element = TF_ELEMENT_INT64, .extents = {1}, .size_bytes = 8}};
  description.steps = {
      {.name = "ten", .kernel = 4, .buffers = {{TF_SPACE_ARENA, 0, 0, 8}}, .dims = {10}},
      {.name = "twenty", .kernel = 4, .buffers = {{TF_SPACE_ARENA, 0, 64, 8}}, .dims = {20}},
      {.name = "make",
       .kernel = 4,
       .buffers = {{TF_SPACE_ARENA, 0, 128, 8}},
       .dims = {Sized(1, dim(0))},
       .made = {1, 0}},
      {.name = "copy",
       .kernel = 3,
       .buffers = {{TF_SPACE_ARENA, 0, Sized(64, number(64) * dim(1)), 8}, {TF_SPACE_OUTPUT, 0, 0, 8}},
       .dims = {2, 1}}};
  description.arena_bytes = 192;
  description.dims = {{.name = "n", .low = 0, .high = 1},
                      {.name = "made", .low = 0, .high = 1, .made_by = TF_DIM_MADE}};
  description.kernel_count = 7;
  const Library library(*encode_model(description), kFinding);
  tf_model* model = nullptr;
  ASSERT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_OK);
  for (const int64_t n : {0, 1, 0}) {
    alignas(TF_ALIGNMENT) float x[1] = {};
    const tf_tensor input = {x, &n};
    tf_tensor output = {};
    ASSERT_EQ(GET(library, tf_model_run_sizes)(model, &input, &output), TF_MODEL_OK);
    EXPECT_EQ(*static_cast<const int64_t*>(output.data), n == 0 ? 10 : 20);
  }
  GET(library, tf_model_close)(model);
}

TEST(MadeDims, WhoseSizesWereNotPlannedFailTheRun) {
  ModelDescription description = found_model();
  description.steps[3].buffers[2].offset_bytes.code = number(320) + number(-64) * dim(2);
  FoundModel model(description);
  Found found;
  EXPECT_EQ(model.run({2, 3, 4, 0, 0}, found), TF_MODEL_BAD_SIZE);
}

}  // namespace
}  // namespace tf::runtime
