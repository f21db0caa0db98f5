// Models whose sizes vary, linked as built models are, and run through the C API.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model.h"
#include "tests/unit/compiler/runtime/linked_library.h"
#include "tests/unit/compiler/runtime/sized_models.h"

namespace tf::runtime {
namespace {

const LibraryOptions kSized = {.kernels = "sized_kernels.c"};

// An opened model.
class Model {
 public:
  explicit Model(const Library& library, int32_t threads = 1) : library_(library) {
    EXPECT_EQ(GET(library, tf_model_open)(threads, &model_), TF_MODEL_OK);
  }
  ~Model() { GET(library_, tf_model_close)(model_); }

  tf_model* get() const { return model_; }
  int32_t run(const std::vector<tf_tensor>& inputs, std::vector<tf_tensor>& outputs) const {
    return GET(library_, tf_model_run_sizes)(model_, inputs.data(), outputs.data());
  }

 private:
  const Library& library_;
  tf_model* model_ = nullptr;
};

// Inputs of pairs_model and what it makes of them. `shift` floats lie before them: with 0 they are aligned.
struct Pairs {
  Pairs(int64_t batch, int64_t length, int64_t shift = 0)
      : x_extents{batch, length}, bias_extents{length}, shift_(shift) {
    for (int64_t i = 0; i < batch * length; ++i) x[i + shift] = static_cast<float>(i + batch);
    for (int64_t i = 0; i < length; ++i) bias[i + shift] = static_cast<float>(10 * i);
  }
  std::vector<tf_tensor> inputs() { return {{x + shift_, x_extents}, {bias + shift_, bias_extents}}; }

  std::vector<float> y() const {
    std::vector<float> y;
    for (int64_t i = 0; i < x_extents[0]; ++i) {
      const float* row = x + shift_ + i * x_extents[1];
      y.insert(y.end(), row, row + x_extents[1]);
      for (int64_t k = 0; k < x_extents[1]; ++k) y.push_back(row[k] + bias[k + shift_]);
    }
    return y;
  }
  std::vector<float> s(float mark) const {
    const std::vector<float> all = y();
    std::vector<float> s(static_cast<size_t>(x_extents[0]), mark);
    for (size_t i = 0; i < all.size(); ++i) s[i / static_cast<size_t>(2 * x_extents[1])] += all[i];
    return s;
  }

  alignas(TF_ALIGNMENT) float x[64];
  alignas(TF_ALIGNMENT) float bias[16];
  int64_t x_extents[2];
  int64_t bias_extents[1];

 private:
  const int64_t shift_;
};

std::vector<float> floats(const tf_tensor& tensor, size_t rank) {
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= tensor.extents[i];
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + count};
}

std::vector<int64_t> extents(const tf_tensor& tensor, size_t rank) {
  return {tensor.extents, tensor.extents + rank};
}

void expect_right(const Model& model, Pairs& pairs, float mark) {
  const int64_t batch = pairs.x_extents[0], length = pairs.x_extents[1];
  SCOPED_TRACE(testing::Message() << batch << " x " << length);
  std::vector<tf_tensor> outputs(2);
  ASSERT_EQ(model.run(pairs.inputs(), outputs), TF_MODEL_OK);
  EXPECT_EQ(extents(outputs[0], 2), (std::vector<int64_t>{batch, 2 * length}));
  EXPECT_EQ(extents(outputs[1], 1), (std::vector<int64_t>{batch}));
  EXPECT_EQ(floats(outputs[0], 2), pairs.y());
  EXPECT_EQ(floats(outputs[1], 1), pairs.s(mark));
}

void expect_right(const Model& model, int64_t batch, int64_t length, float mark, int64_t shift = 0) {
  Pairs pairs(batch, length, shift);
  expect_right(model, pairs, mark);
}

ModelDescription pairs_without_variants() {
  ModelDescription model = pairs_model();
  model.variants.clear();
  model.bodies.clear();
  return model;
}

TEST(RunSizes, TakesTheSizesOfTheInputs) {
  const Library library(*encode_model(pairs_without_variants()), kSized);
  const Model model(library, 2);
  for (const int64_t shift : {0, 1}) {
    for (int64_t batch = 1; batch <= kMostBatch; ++batch)
      for (int64_t length = 0; length <= kMostLength; ++length) expect_right(model, batch, length, 0, shift);
  }
}

TEST(RunSizes, RunsAVariantForJustItsValues) {
  const Library library(*encode_model(pairs_model()), kSized);
  const Model model(library);
  for (const int64_t shift : {0, 1}) {
    expect_right(model, 2, 4, kMark, shift);
    expect_right(model, 2, 5, 0, shift);
    expect_right(model, 4, 2, 0, shift);
    expect_right(model, 4, 8, 2 * kMark, shift);
    expect_right(model, 2, 4, kMark, shift);
    expect_right(model, 4, 2, 0, shift);
  }
}

TEST(RunSizes, RunsTheMatchingVariantWithTheMostFixedValues) {
  const Library library(*encode_model(partly_fixed_model()), kSized);
  const Model model(library, 2);
  for (const int64_t shift : {0, 1}) {
    for (int64_t batch = 1; batch <= kMostBatch; ++batch) {
      for (int64_t length = 0; length <= kMostLength; ++length) {
        const float mark = batch == 2 && length == 4 ? 3 * kMark
                           : batch == 2              ? kMark
                           : length == 4             ? 2 * kMark
                                                     : 0;
        expect_right(model, batch, length, mark, shift);
      }
    }
  }
}

TEST(RunSizes, RunsTheFirstOfVariantsWithAsManyFixedValues) {
  ModelDescription description = partly_fixed_model();
  description.variants.pop_back();
  for (const float mark : {kMark, 2 * kMark}) {
    const Library library(*encode_model(description), kSized);
    const Model model(library);
    expect_right(model, 2, 4, mark);
    expect_right(model, 2, 5, kMark);
    expect_right(model, 3, 4, 2 * kMark);
    expect_right(model, 2, 4, mark);
    std::swap(description.variants[0], description.variants[1]);
  }
}

TEST(RunSizes, RunAtTheGreatestSizesTakesAPartlyFixedVariant) {
  ModelDescription description = partly_fixed_model();
  description.bodies = {pairs_program(varying_extents(kMostBatch, TF_ANY_VALUE), kMark)};
  description.variants = {{1, {kMostBatch, TF_ANY_VALUE}}};
  const Library library(*encode_model(description), kSized);
  const Model model(library);
  expect_right(model, kMostBatch, 3, kMark);
  Pairs pairs(kMostBatch, kMostLength);
  alignas(TF_ALIGNMENT) float y[64], s[4];
  const void* inputs[] = {pairs.x, pairs.bias};
  void* outputs[] = {y, s};
  ASSERT_EQ(GET(library, tf_model_run)(model.get(), inputs, outputs), TF_MODEL_OK);
  EXPECT_EQ(std::vector<float>(y, y + 64), pairs.y());
  EXPECT_EQ(std::vector<float>(s, s + 4), pairs.s(kMark));
}

TEST(RunSizes, TakesAnEmptyInputWithoutData) {
  const Library library(*encode_model(pairs_model()), kSized);
  const Model model(library);
  const int64_t x_extents[] = {3, 0}, bias_extents[] = {0};
  std::vector<tf_tensor> outputs(2);
  ASSERT_EQ(model.run({{nullptr, x_extents}, {nullptr, bias_extents}}, outputs), TF_MODEL_OK);
  EXPECT_EQ(extents(outputs[0], 2), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(floats(outputs[1], 1), (std::vector<float>{0, 0, 0}));
}

TEST(RunSizes, GivesOutputsInMemoryThatStaysAndIsAligned) {
  const Library library(*encode_model(pairs_model()), kSized);
  const Model model(library);
  Pairs small(1, 2), variant(2, 4);
  std::vector<tf_tensor> first(2), second(2);
  ASSERT_EQ(model.run(small.inputs(), first), TF_MODEL_OK);
  ASSERT_EQ(model.run(variant.inputs(), second), TF_MODEL_OK);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first[i].data, second[i].data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first[i].data) % TF_ALIGNMENT, 0u);
  }
}

TEST(RunSizes, RunAtTheGreatestSizesIsTfModelRun) {
  for (const bool has_variants : {false, true}) {
    const Library library(*encode_model(has_variants ? pairs_model() : pairs_without_variants()), kSized);
    const Model model(library);
    expect_right(model, 3, 5, 0);
    Pairs pairs(kMostBatch, kMostLength);
    alignas(TF_ALIGNMENT) float y[65], s[5];
    for (const int shift : {0, 1}) {
      const void* inputs[] = {pairs.x, pairs.bias};
      void* outputs[] = {y + shift, s + shift};
      ASSERT_EQ(GET(library, tf_model_run)(model.get(), inputs, outputs), TF_MODEL_OK);
      EXPECT_EQ(std::vector<float>(y + shift, y + shift + 64), pairs.y());
      EXPECT_EQ(std::vector<float>(s + shift, s + shift + 4), pairs.s(has_variants ? 2 * kMark : 0));
    }
    expect_right(model, 3, 5, 0);
  }
}

TEST(RunSizes, DescribesDimensionsAndTheExtentsThatTheyAre) {
  const Library library(*encode_model(pairs_model()), kSized);
  const Model model(library);
  ASSERT_EQ(GET(library, tf_model_dim_count)(model.get()), 2);
  auto* const get_dim = GET(library, tf_model_dim);
  EXPECT_STREQ(get_dim(model.get(), 0)->name, "batch");
  EXPECT_EQ(get_dim(model.get(), 0)->low, 1);
  EXPECT_EQ(get_dim(model.get(), 1)->high, kMostLength);
  EXPECT_EQ(get_dim(model.get(), 2), nullptr);
  EXPECT_EQ(get_dim(model.get(), -1), nullptr);
  const tf_tensor_info* x = GET(library, tf_model_input)(model.get(), 0);
  EXPECT_EQ(std::vector<int32_t>(x->dims, x->dims + 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(std::vector<int64_t>(x->extents, x->extents + 2),
            (std::vector<int64_t>{kMostBatch, kMostLength}));
  EXPECT_EQ(x->size_bytes, 4u * kMostBatch * kMostLength);
  const tf_tensor_info* y = GET(library, tf_model_output)(model.get(), 0);
  EXPECT_EQ(std::vector<int32_t>(y->dims, y->dims + 2), (std::vector<int32_t>{0, -1}));
}

TEST(RunSizes, RefusesExtentsThatAreNoMultiples) {
  ModelDescription rows = pairs_model();
  rows.dims[0].low = 2;
  rows.dims[0].multiple_of = 2;
  const Library library(*encode_model(rows), kSized);
  const Model model(library);
  EXPECT_EQ(GET(library, tf_model_dim)(model.get(), 0)->multiple_of, 2);
  EXPECT_EQ(GET(library, tf_model_dim)(model.get(), 1)->multiple_of, 1);
  std::vector<tf_tensor> outputs(2);
  for (int64_t batch = 1; batch <= kMostBatch; ++batch) {
    Pairs pairs(batch, 5);
    EXPECT_EQ(model.run(pairs.inputs(), outputs), batch % 2 == 0 ? TF_MODEL_OK : TF_MODEL_BAD_SIZE) << batch;
  }
}

TEST(RunSizes, RefusesExtentsThatTheModelDoesNotHave) {
  const Library library(*encode_model(pairs_model()), kSized);
  const Model model(library);
  Pairs good(3, 5);
  std::vector<tf_tensor> outputs(2);
  ASSERT_EQ(model.run(good.inputs(), outputs), TF_MODEL_OK);
  const void* const data = outputs[0].data;
  struct Bad {
    int64_t batch, length, bias;
  };
  for (const Bad& bad : std::vector<Bad>{{0, 5, 5},
                                         {5, 5, 5},
                                         {-1, 5, 5},
                                         {3, 9, 9},
                                         {3, -1, -1},
                                         {3, 5, 4},
                                         {3, 5, 6},
                                         {INT64_MAX, 5, 5},
                                         {INT64_MIN, 5, 5}}) {
    SCOPED_TRACE(testing::Message() << bad.batch << " " << bad.length << " " << bad.bias);
    const int64_t x_extents[] = {bad.batch, bad.length}, bias_extents[] = {bad.bias};
    EXPECT_EQ(model.run({{good.x, x_extents}, {good.bias, bias_extents}}, outputs), TF_MODEL_BAD_SIZE);
    EXPECT_EQ(outputs[0].data, data);
    EXPECT_EQ(floats(outputs[0], 2), good.y()) << "what the last run gave is still there";
  }
  EXPECT_THAT(GET(library, tf_model_error_text)(TF_MODEL_BAD_SIZE), testing::HasSubstr("extent of an input"));
  expect_right(model, 3, 5, 0);
}

TEST(RunSizes, RefusesBadArguments) {
  const std::string blob = *encode_model(pairs_model());
  const Library library(blob, kSized), other(blob, kSized);
  const Model model(library);
  Pairs pairs(3, 5);
  std::vector<tf_tensor> outputs(2);
  EXPECT_EQ(model.run({{nullptr, pairs.x_extents}, {pairs.bias, pairs.bias_extents}}, outputs),
            TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(model.run({{pairs.x, nullptr}, {pairs.bias, pairs.bias_extents}}, outputs),
            TF_MODEL_BAD_ARGUMENT);
  const std::vector<tf_tensor> inputs = pairs.inputs();
  auto* const run = GET(library, tf_model_run_sizes);
  EXPECT_EQ(run(nullptr, inputs.data(), outputs.data()), TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(run(model.get(), nullptr, outputs.data()), TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(run(model.get(), inputs.data(), nullptr), TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(GET(other, tf_model_run_sizes)(model.get(), inputs.data(), outputs.data()),
            TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(outputs[0].data, nullptr);
}

TEST(RunSizes, OfTwoModelsAreEachOnesOwn) {
  const std::string blob = *encode_model(pairs_model());
  const Library library(blob, kSized), other(*encode_model(pairs_without_variants()), kSized);
  const Model first(library), second(library), third(other);
  for (int64_t batch = 1; batch <= kMostBatch; ++batch) {
    expect_right(first, batch, 5, 0);
    expect_right(second, batch, 4, batch == 2 ? kMark : 0);
    expect_right(third, batch, 4, 0);
  }
}

TEST(RunSizes, TakesTheFixedSizesOfAModelWithoutDimensions) {
  ModelDescription fixed;
  static_cast<ModelProgram&>(fixed) = pairs_program(extents_at(2, 4), 0);
  fixed.kernel_count = 5;
  const Library library(*encode_model(fixed), kSized);
  const Model model(library);
  EXPECT_EQ(GET(library, tf_model_dim_count)(model.get()), 0);
  EXPECT_EQ(GET(library, tf_model_input)(model.get(), 0)->dims[1], -1);
  expect_right(model, 2, 4, 0, 1);
  Pairs pairs(2, 5);
  std::vector<tf_tensor> outputs(2);
  EXPECT_EQ(model.run(pairs.inputs(), outputs), TF_MODEL_BAD_SIZE);
}

TEST(RunSizes, FailsIfAPlaceIsNotOneThatWasPlannedAndWorksAtTheNextSizes) {
  using Change = void (*)(ModelBuffer & u);  // where the sums lie before they are copied
  const Change changes[] = {
      [](ModelBuffer& u) { u.offset_bytes.code = number(4) * dim(0) * dim(1) + number(4); },
      [](ModelBuffer& u) { u.offset_bytes.code = number(64) * dim(1); },
      [](ModelBuffer& u) { u.offset_bytes.code = number(-64) * dim(1); },
      [](ModelBuffer& u) { u.size_bytes.code = number(40) * dim(1); },
      [](ModelBuffer& u) { u.size_bytes.code = number(-4) * dim(1); },
      [](ModelBuffer& u) { u.size_bytes.code = number(INT64_MAX) * dim(1); }};
  for (size_t i = 0; i < std::size(changes); ++i) {
    SCOPED_TRACE(i);
    ModelDescription description = pairs_model();
    changes[i](description.steps[2].buffers[1]);
    const Library library(*encode_model(description), kSized);
    const Model model(library);
    expect_right(model, 2, 4, kMark);
    Pairs pairs(3, 8);
    std::vector<tf_tensor> outputs(2);
    EXPECT_EQ(model.run(pairs.inputs(), outputs), TF_MODEL_BAD_SIZE);
    EXPECT_EQ(outputs[0].data, nullptr);
    expect_right(model, 2, 4, kMark);
    EXPECT_EQ(model.run(pairs.inputs(), outputs), TF_MODEL_BAD_SIZE);
  }
}

TEST(RunSizes, FailsIfAnOutputIsNotAsLargeAsItsExtents) {
  for (const Code& wrong : {number(4) * dim(0) * dim(1), number(4) * dim(0) * number(16)}) {
    ModelDescription description = pairs_without_variants();
    description.outputs[0].size_bytes.code = wrong;
    const Library library(*encode_model(description), kSized);
    const Model model(library);
    Pairs pairs(2, 5);
    std::vector<tf_tensor> outputs(2);
    EXPECT_EQ(model.run(pairs.inputs(), outputs), TF_MODEL_BAD_SIZE);
  }
}

TEST(RunSizes, ReachTheBodiesOfLoops) {
  const Library library(*encode_model(rows_model()), kSized);
  const Model model(library);
  for (const int64_t length : {16, 1, 5, 16}) {
    for (const int64_t rows : {5, 0, 1, 3}) {
      alignas(TF_ALIGNMENT) float x[80];
      for (int i = 0; i < 80; ++i) x[i] = static_cast<float>(i);
      const int64_t x_extents[] = {rows, length};
      std::vector<tf_tensor> outputs(1);
      ASSERT_EQ(model.run({{x, x_extents}}, outputs), TF_MODEL_OK);
      std::vector<float> y;
      for (int64_t i = 0; i < rows * length; ++i) y.push_back(3 * x[i]);
      EXPECT_EQ(floats(outputs[0], 2), y) << rows << " x " << length;
    }
  }
}

TEST(RunSizes, FailsIfALoopHasMoreTripsThanSlices) {
  ModelDescription description = rows_model();
  description.steps[0].dims[0].code = dim(0) + number(1);
  const Library library(*encode_model(description), kSized);
  const Model model(library);
  alignas(TF_ALIGNMENT) float x[80] = {};
  const int64_t x_extents[] = {3, 4};
  std::vector<tf_tensor> outputs(1);
  EXPECT_EQ(model.run({{x, x_extents}}, outputs), TF_MODEL_BAD_SIZE);
}

}  // namespace
}  // namespace tf::runtime
