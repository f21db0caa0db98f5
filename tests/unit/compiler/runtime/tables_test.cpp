#include "compiler/runtime/executor/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "compiler/runtime/executor/sizes.h"
#include "tests/unit/compiler/runtime/sized_models.h"

namespace tf::runtime {
namespace {

// A blob in memory, aligned as in a library, which may be damaged.
class Tables {
 public:
  explicit Tables(const ModelDescription& model) {
    const std::string blob = *encode_model(model);
    words_.resize((blob.size() + 7) / 8);
    std::memcpy(words_.data(), blob.data(), blob.size());
  }

  tf_model_header& header() { return *reinterpret_cast<tf_model_header*>(words_.data()); }
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(words_.data()); }
  bool valid() { return tf_tables_valid(&header()); }

  template <typename T>
  T* at(const tf_model_table& table) {
    return reinterpret_cast<T*>(bytes() + table.offset_bytes);
  }
  int64_t* numbers() { return at<int64_t>(header().numbers); }
  tf_model_tensor* tensors() { return at<tf_model_tensor>(header().tensors); }
  tf_model_step* steps() { return at<tf_model_step>(header().steps); }
  tf_model_buffer* buffers() { return at<tf_model_buffer>(header().buffers); }
  tf_model_program* programs() { return at<tf_model_program>(header().programs); }
  tf_model_dimension* dims() { return at<tf_model_dimension>(header().dims); }
  tf_model_variant* variants() { return at<tf_model_variant>(header().variants); }
  tf_model_formula* formulas() { return at<tf_model_formula>(header().formulas); }
  // The code of formula `i`.
  int64_t* code(size_t i) { return numbers() + formulas()[i].first_code; }

 private:
  std::vector<uint64_t> words_;
};

// The sizes of a run on tables.
class SizesOfRun {
 public:
  explicit SizesOfRun(Tables& tables) : sizes_bytes_(tables.header().buffers.count) {
    run_.header = &tables.header();
    run_.sizes_bytes = sizes_bytes_.data();
    EXPECT_TRUE(tf_make_sizes(&run_));
  }
  ~SizesOfRun() { tf_free_sizes(&run_); }
  SizesOfRun(const SizesOfRun&) = delete;
  SizesOfRun& operator=(const SizesOfRun&) = delete;

  int32_t make(uint32_t dim, int64_t value) { return tf_set_size(&run_, dim, value); }
  int32_t set(const std::vector<int64_t>& values) { return tf_set_sizes(&run_, values.data()); }
  const tf_execution* operator->() const { return &run_; }

 private:
  std::vector<uint64_t> sizes_bytes_;
  tf_execution run_ = {};
};

using Damage = std::function<void(Tables&)>;

void expect_refused(const ModelDescription& model, const std::vector<Damage>& damages) {
  ASSERT_TRUE(Tables(model).valid());
  for (size_t i = 0; i < damages.size(); ++i) {
    Tables tables(model);
    damages[i](tables);
    EXPECT_FALSE(tables.valid()) << "damage " << i;
  }
}

TEST(ModelTables, WithADimensionOutOfRangeAreRefused) {
  expect_refused(pairs_model(), {
                                    [](Tables& t) { t.dims()[1].name = 1 << 20; },
                                    [](Tables& t) { t.dims()[0].low = -1; },
                                    [](Tables& t) { t.dims()[0].low = t.dims()[0].high + 1; },
                                    [](Tables& t) { t.dims()[0].high += 1; },
                                    [](Tables& t) { t.dims()[0].made_by = TF_DIM_MADE; },
                                    [](Tables& t) { t.dims()[0].made_by = 2; },
                                    [](Tables& t) { t.header().dims.count = 1; },
                                    [](Tables& t) { t.header().dims.count = 0; },
                                    [](Tables& t) { t.header().dims.count = uint64_t{1} << 40; },
                                    [](Tables& t) { t.header().dims.offset_bytes += 1; },
                                    [](Tables& t) { t.header().dims.offset_bytes = uint64_t{1} << 40; },
                                });
}

TEST(ModelTables, WithAVariantThatIsNotTheModelAtItsValuesAreRefused) {
  expect_refused(pairs_model(), {
                                    [](Tables& t) { t.variants()[0].program = 0; },
                                    [](Tables& t) { t.variants()[0].program = 2; },
                                    [](Tables& t) { t.variants()[0].program = 3; },
                                    [](Tables& t) { t.variants()[1].first_value = UINT32_MAX; },
                                    [](Tables& t) { t.numbers()[t.variants()[0].first_value] = 0; },
                                    [](Tables& t) { t.numbers()[t.variants()[0].first_value] = 3; },
                                    [](Tables& t) { t.numbers()[t.variants()[0].first_value + 1] = 9; },
                                    [](Tables& t) { t.programs()[1].input_count = 1; },
                                    [](Tables& t) { t.programs()[1].output_count = 1; },
                                    [](Tables& t) { t.tensors()[4].element = TF_ELEMENT_INT32; },
                                    [](Tables& t) { t.tensors()[4].element = 0; },
                                    [](Tables& t) { t.tensors()[4].rank = 1; },
                                    [](Tables& t) { t.tensors()[4].size_bytes += 4; },
                                    [](Tables& t) { t.numbers()[t.tensors()[6].first_extent] = 5; },
                                    [](Tables& t) { t.numbers()[t.tensors()[7].first_extent] = 1; },
                                    [](Tables& t) { t.header().variants.count = uint64_t{1} << 40; },
                                });
}

// Where the table of variants, which encode_model sorts, has that of program `number`.
const tf_model_variant& variant_of(Tables& t, uint32_t number) {
  const tf_model_variant* variant = t.variants();
  while (variant->program != number) ++variant;
  return *variant;
}

TEST(ModelTables, WithAPartlyFixedVariantThatIsNotTheModelAtItsValuesAreRefused) {
  // Program 1 is for batch 2; its inputs are tensors 4 and 5, its outputs 6 and 7.
  expect_refused(partly_fixed_model(),
                 {
                     [](Tables& t) { t.numbers()[variant_of(t, 1).first_value] = TF_ANY_VALUE; },
                     [](Tables& t) { t.numbers()[variant_of(t, 1).first_value] = 3; },
                     [](Tables& t) { t.numbers()[variant_of(t, 1).first_value] = -2; },
                     [](Tables& t) { t.numbers()[variant_of(t, 1).first_value + 1] = kMostLength; },
                     [](Tables& t) { t.numbers()[t.tensors()[4].first_extent] = 1; },
                     [](Tables& t) { t.numbers()[t.tensors()[5].first_extent] -= 1; },
                 });
  using Change = void (*)(ModelProgram & variant);
  const Change changes[] = {
      [](ModelProgram& v) { v.inputs[0].extents[1].code = dim(0); },
      [](ModelProgram& v) { v.inputs[0].extents[1].code = dim(1) + number(0); },
      [](ModelProgram& v) { v.inputs[0].extents[1].code.clear(); },
      [](ModelProgram& v) { v.inputs[0].extents[0].code = number(2); },
      [](ModelProgram& v) { v.outputs[1].extents[0].code = number(2); },
      [](ModelProgram& v) { v.outputs[1].extents[0] = Sized(1); },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    ModelDescription model = partly_fixed_model();
    changes[i](model.bodies[0]);
    const absl::StatusOr<std::string> blob = encode_model(model);
    EXPECT_TRUE(!blob.ok() || !Tables(model).valid()) << "change " << i;
  }
}

TEST(ModelTables, WithARangeThatIsNotOfMultiplesAreRefused) {
  expect_refused(pairs_model(), {
                                    [](Tables& t) { t.dims()[0].multiple_of = 0; },
                                    [](Tables& t) { t.dims()[0].multiple_of = -1; },
                                    [](Tables& t) { t.dims()[0].multiple_of = 3; },
                                });
  ModelDescription model = pairs_model();
  model.dims[0].multiple_of = 3;
  EXPECT_FALSE(encode_model(model).ok());
}

TEST(ModelTables, WithAFormulaOutOfRangeAreRefused) {
  expect_refused(pairs_model(),
                 {
                     [](Tables& t) {
                       t.formulas()[t.header().formulas.count - 1].target = TF_FORMULA_BUFFER_OFFSET + 1;
                     },
                     [](Tables& t) { t.formulas()[t.header().formulas.count - 1].index = 1 << 20; },
                     [](Tables& t) { t.formulas()[0].index = t.formulas()[1].index; },
                     [](Tables& t) { std::swap(t.formulas()[0], t.formulas()[1]); },
                     [](Tables& t) { t.formulas()[0].first_code = UINT32_MAX; },
                     [](Tables& t) { t.formulas()[0].code_count = UINT32_MAX; },
                     [](Tables& t) { t.formulas()[0].code_count = 0; },
                     [](Tables& t) { t.code(0)[0] = TF_CODE_MAX + 1; },
                     [](Tables& t) { t.code(0)[0] = -1; },
                     [](Tables& t) {
                       t.code(0)[0] = TF_CODE_NUMBER;
                     },  // an input's extent is then none of the dimensions
                     [](Tables& t) { t.code(0)[1] = 2; },
                     [](Tables& t) { t.code(0)[1] = -1; },
                     [](Tables& t) { t.header().formulas.count = uint64_t{1} << 40; },
                 });
}

TEST(ModelTables, WhereADimensionIsNotMadeOnceAreRefused) {
  expect_refused(found_model(), {
                                    [](Tables& t) { t.steps()[0].made_dim = TF_NO_DIMENSION; },
                                    [](Tables& t) { t.steps()[0].made_dim = 0; },
                                    [](Tables& t) { t.steps()[0].made_dim = 2; },
                                    [](Tables& t) { t.steps()[0].made_dim = 3; },
                                    [](Tables& t) { t.steps()[0].made_buffer = 3; },
                                    [](Tables& t) { t.steps()[1].made_dim = 1; },
                                    [](Tables& t) { t.steps()[2].made_dim = TF_NO_DIMENSION; },
                                    [](Tables& t) { t.steps()[4].made_dim = 2; },
                                    [](Tables& t) { std::swap(t.steps()[0], t.steps()[1]); },
                                    [](Tables& t) { t.steps()[7].made_dim = TF_NO_DIMENSION; },
                                    [](Tables& t) { t.buffers()[2].size_bytes = 7; },
                                    [](Tables& t) { t.dims()[1].made_by = TF_DIM_GIVEN; },
                                    [](Tables& t) { t.numbers()[t.variants()[0].first_value + 1] = 3; },
                                });
}

TEST(ModelTables, WhereADimensionIsMadeAfterAUseAreRefused) {
  using Change = void (*)(ModelDescription & model);
  const Change changes[] = {
      [](ModelDescription& m) { m.steps[0].dims[3] = Sized(8, dim(1)); },
      [](ModelDescription& m) { m.steps[0].buffers[0].size_bytes.code = number(4) * dim(1); },
      [](ModelDescription& m) { m.steps[1].buffers[0].offset_bytes = Sized(0, number(0) * dim(2)); },
      [](ModelDescription& m) { m.bodies[0].steps[2].dims[3] = Sized(8, dim(2)); },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    ModelDescription model = found_model();
    changes[i](model);
    EXPECT_FALSE(Tables(model).valid()) << "change " << i;
  }
}

TEST(ModelTables, WhereABodyMakesOrUsesAMadeDimensionAreRefused) {
  ModelDescription model = rows_model();
  model.dims.push_back({.name = "made", .low = 0, .high = 5, .made_by = TF_DIM_MADE});
  model.steps[0].made = {2, 0};
  model.steps[1].buffers[1].size_bytes.code = number(64) * dim(2);
  EXPECT_TRUE(Tables(model).valid());
  ModelDescription used = model;
  used.bodies[0].steps[0].dims[1] = Sized(5, dim(2));
  EXPECT_FALSE(Tables(used).valid());
  ModelDescription made = rows_model();
  made.dims = model.dims;
  EXPECT_TRUE(Tables(made).valid());
  made.bodies[0].steps[0].made = {2, 0};
  EXPECT_FALSE(Tables(made).valid());
}

TEST(ModelTables, WhereAFormulaPlacesWeightsAreRefused) {
  ModelDescription model = pairs_model();
  model.weights_bytes = 64;
  model.steps[0].buffers[1] = {TF_SPACE_WEIGHTS, 0, 0, Sized(32, number(4) * dim(1))};
  ASSERT_TRUE(Tables(model).valid());
  model.steps[0].buffers[1].offset_bytes = Sized(0, number(0));
  EXPECT_FALSE(Tables(model).valid());
}

TEST(ModelTables, WithTensorsAndPlacesThatDoNotFitAreRefused) {
  expect_refused(pairs_model(), {
                                    [](Tables& t) { t.tensors()[0].size_bytes -= 4; },
                                    [](Tables& t) { t.tensors()[0].element = 99; },
                                    [](Tables& t) { t.numbers()[t.tensors()[2].first_extent + 1] = -16; },
                                    [](Tables& t) { t.buffers()[5].offset_bytes = 32; },
                                    [](Tables& t) { t.buffers()[0].size_bytes += 1; },
                                    [](Tables& t) { t.programs()[0].arena_bytes = 64; },
                                    [](Tables& t) { t.header().programs.count = 0; },
                                });
}

TEST(ModelTables, WhereABodyIsGivenTooLittleAreRefused) {
  std::vector<Damage> damages;
  for (const uint32_t buffer : {1, 4, 5, 6, 7})  // what a loop's buffers are: see TF_STEP_LOOP
    damages.emplace_back([buffer](Tables& t) { t.buffers()[buffer].size_bytes = 0; });
  damages.emplace_back([](Tables& t) { t.programs()[1].arena_bytes = 64; });
  damages.emplace_back([](Tables& t) { t.tensors()[2].size_bytes = 16; });
  expect_refused(rows_model(), damages);
}

TEST(ModelTables, AreRefusedOrKeepAllPlacesInBoundsWhicheverByteIsDamaged) {
  for (const ModelDescription& model : {pairs_model(), partly_fixed_model(), rows_model(), found_model()}) {
    const uint64_t blob_bytes = Tables(model).header().blob_bytes;
    int accepted = 0;
    for (uint64_t i = 0; i < blob_bytes; ++i) {
      if (i >= offsetof(tf_model_header, blob_bytes) && i < offsetof(tf_model_header, weights_bytes))
        continue;
      for (const uint8_t flip : {0x01, 0x80, 0xff}) {
        Tables tables(model);
        tables.bytes()[i] ^= flip;
        if (!tables.valid()) continue;
        ++accepted;
        SizesOfRun run(tables);
        for (const std::vector<int64_t>& values :
             {std::vector<int64_t>{1, 1, 1, 1}, {3, 5, 2, 1}, {4, 8, 8, 8}}) {
          const int32_t error = run.set(values);
          ASSERT_TRUE(error == TF_MODEL_OK || error == TF_MODEL_BAD_SIZE) << error;
          ASSERT_TRUE(tf_sizes_valid(&tables.header(), run->numbers, run->tensors, run->places)) << i;
        }
      }
    }
    EXPECT_GT(accepted, 100) << "names and numbers of kernels may be any";
  }
}

TEST(Sizes, AreTheTablesOwnWithoutDimensions) {
  ModelDescription fixed;
  static_cast<ModelProgram&>(fixed) = pairs_program(extents_at(2, 4), 0);
  fixed.kernel_count = 5;
  Tables tables(fixed);
  ASSERT_TRUE(tables.valid());
  SizesOfRun run(tables);
  EXPECT_EQ(run->numbers, tables.numbers());
  EXPECT_EQ(run->tensors, tables.tensors());
  EXPECT_EQ(run->places, tables.buffers());
  EXPECT_EQ(run.set({}), TF_MODEL_OK);
}

TEST(Sizes, AreThoseOfTheDimensionsAndLeaveTheTablesAlone) {
  Tables tables(pairs_model());
  SizesOfRun run(tables);
  ASSERT_EQ(run.set({3, 5}), TF_MODEL_OK);
  EXPECT_EQ(run->tensors[2].size_bytes, 4u * 3 * 10);
  EXPECT_EQ(run->numbers[run->tensors[2].first_extent + 1], 10);
  EXPECT_EQ(run->places[8].size_bytes, 12u);
  EXPECT_EQ(run->sizes_bytes[8], 12u);
  EXPECT_EQ(run->places[7].offset_bytes, 64u);
  EXPECT_EQ(tables.tensors()[2].size_bytes, 4u * 4 * 16);
  EXPECT_EQ(tables.buffers()[7].offset_bytes, 128u);
}

TEST(Sizes, OfAPartlyFixedVariantHaveTheBytesOfTheirExtents) {
  ModelDescription model = partly_fixed_model();
  model.bodies[0].inputs[0].size_bytes.code = number(32) + number(4) * dim(1);
  Tables tables(model);
  ASSERT_TRUE(tables.valid());
  SizesOfRun run(tables);
  EXPECT_EQ(run.set({4, 8}), TF_MODEL_OK);
  EXPECT_EQ(run.set({2, 8}), TF_MODEL_OK);
  EXPECT_EQ(run.set({2, 7}), TF_MODEL_BAD_SIZE);
}

TEST(Sizes, AreSetAnewOnceAStepHasMadeADimension) {
  ModelDescription model = pairs_model();
  model.variants.clear();
  model.bodies.clear();
  model.dims.push_back({.name = "made", .low = 0, .high = 16, .made_by = TF_DIM_MADE});
  model.outputs[1].extents[0] = Sized(16, dim(2));
  model.outputs[1].size_bytes = Sized(64, number(4) * dim(2));
  model.steps.pop_back();
  model.steps[2].made = {2, 1};
  Tables tables(model);
  ASSERT_TRUE(tables.valid());
  SizesOfRun run(tables);
  ASSERT_EQ(run.set({3, 5, 16}), TF_MODEL_OK);
  EXPECT_EQ(run->tensors[3].size_bytes, 64u);
  ASSERT_EQ(run.make(2, 2), TF_MODEL_OK);
  EXPECT_EQ(run->tensors[3].size_bytes, 8u);
  EXPECT_EQ(run->tensors[2].size_bytes, 4u * 3 * 10);
}

TEST(ModelBlob, RefusesCodesRangesAndVariantsThatAreNotWellFormed) {
  using Change = void (*)(ModelDescription & model);
  const std::pair<Change, const char*> changes[] = {
      {[](ModelDescription& m) { m.steps[0].dims[0].code = {TF_CODE_ADD}; }, "step bias"},
      {[](ModelDescription& m) { m.steps[1].buffers[0].size_bytes.code = dim(2); }, "step pair"},
      {[](ModelDescription& m) { m.outputs[0].extents[1].code = {TF_CODE_NUMBER}; }, "step bias"},
      {[](ModelDescription& m) { m.dims[0].low = 5; }, "dimension batch has the range 5..4"},
      {[](ModelDescription& m) { m.dims[1].low = -1; }, "dimension length has the range -1..8"},
      {[](ModelDescription& m) { m.variants[0].program = 3; }, "variant of program 3"},
      {[](ModelDescription& m) { m.variants[0].values.pop_back(); }, "variant of program 1"},
      {[](ModelDescription& m) { m.variants[1].values[0] = 5; }, "variant of program 2"},
      {[](ModelDescription& m) {
         m.steps[1].made = {2, 0};
       },
       "step pair cannot make dimension 2"},
      {[](ModelDescription& m) {
         m.steps[1].made = {1, 0};
       },
       "step pair cannot make dimension 1"},
      {[](ModelDescription& m) {
         m.variants.clear();
         m.dims[1].made_by = TF_DIM_MADE;
         m.steps[1].made = {1, 3};
       },
       "step pair cannot make dimension 1 from its buffer 3"},
      {[](ModelDescription& m) { m.dims[1].made_by = TF_DIM_MADE; }, "variant of program 1"},
      {[](ModelDescription& m) { m.variants[1].values[0] = -2; }, "variant of program 2"},
      {[](ModelDescription& m) { m.bodies[0].steps[1].dims[0].code = dim(0); },
       "variant of program 1 fixes batch and varies with it"},
      {[](ModelDescription& m) {
         m.bodies[1].steps[0].kind = TF_STEP_BRANCH;
         m.bodies[1].steps[0].body = m.bodies[1].steps[0].other_body = 3;
         m.bodies.push_back(pairs_program(varying_extents(kMostBatch, TF_ANY_VALUE), 0));
       },
       "variant of program 2 fixes length and varies with it"},
  };
  for (const auto& [change, text] : changes) {
    ModelDescription model = pairs_model();
    change(model);
    const auto blob = encode_model(model);
    ASSERT_FALSE(blob.ok()) << text;
    EXPECT_THAT(std::string(blob.status().message()), testing::HasSubstr(text));
  }
}

}  // namespace
}  // namespace tf::runtime
