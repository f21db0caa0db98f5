// The tables of models for devices, damaged in every field.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/device/device.h"
#include "compiler/runtime/executor/tables.h"

namespace tf::runtime {
namespace {

// An input of 1 KiB, a launch into the arena with a checked index, and one into the output.
ModelDescription device_model() {
  ModelDescription model;
  model.inputs.push_back({"x", TF_ELEMENT_INT32, {256}, 1024});
  model.outputs.push_back({"y", TF_ELEMENT_INT32, {128}, 512});
  model.arena_bytes = 1024;
  const ModelBuffer input = {TF_SPACE_INPUT, 0, 0, 1024}, arena = {TF_SPACE_ARENA, 0, 512, 512},
                    output = {TF_SPACE_OUTPUT, 0, 0, 512};
  const auto step = [&](uint32_t kind, std::vector<ModelBuffer> buffers) {
    ModelStep made{.name = "step", .kind = kind, .key = ""};
    made.buffers = std::move(buffers);
    return made;
  };
  model.steps = {step(TF_STEP_UPLOAD, {input}), step(TF_STEP_LAUNCH, {input, arena}),
                 step(TF_STEP_LAUNCH, {arena, output}), step(TF_STEP_DOWNLOAD, {output})};
  model.steps[1].indices = {0, 4, 256};
  model.kernel_count = 1;
  model.device_function = 0;
  ModelDeviceKernel kernel;
  kernel.codes = {{TF_DEVICE_CODE_CUBIN, "cubin"}, {TF_DEVICE_CODE_PTX, "ptx"}};
  kernel.launches = {{"first", 64, {4, 1, 1}, {32, 2, 1}}, {"second", 0, {1, 1, 1}, {1, 1, 1}}};
  kernel.launches[1].maps = {{.buffer = 0, .element_bytes = 2, .extents = {8, 64}, .box = {8, 64}}};
  kernel.workspace_bytes = 128;
  model.device_kernels = {kernel};
  return model;
}

class DeviceTables {
 public:
  explicit DeviceTables(const ModelDescription& model) {
    const std::string blob = *encode_model(model);
    words_.resize((blob.size() + 7) / 8);
    std::memcpy(words_.data(), blob.data(), blob.size());
  }
  tf_model_header& header() { return *reinterpret_cast<tf_model_header*>(words_.data()); }
  bool valid() { return tf_tables_valid(&header()); }
  template <typename T>
  T* at(const tf_model_table& table) {
    return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(words_.data()) + table.offset_bytes);
  }
  tf_model_step* steps() { return at<tf_model_step>(header().steps); }
  tf_model_buffer* buffers() { return at<tf_model_buffer>(header().buffers); }
  tf_model_device_kernel* kernels() { return at<tf_model_device_kernel>(header().device_kernels); }
  tf_model_code* codes() { return at<tf_model_code>(header().codes); }
  tf_model_launch* launches() { return at<tf_model_launch>(header().launches); }
  tf_model_tensor_map* maps() { return at<tf_model_tensor_map>(header().tensor_maps); }

 private:
  std::vector<uint64_t> words_;
};

TEST(DeviceTables, DamagedAreRefused) {
  using Damage = std::function<void(DeviceTables&)>;
  const std::vector<Damage> damages = {
      [](DeviceTables& t) { t.header().device_function = TF_NO_DEVICE; },
      [](DeviceTables& t) { t.header().device_function = 1; },
      [](DeviceTables& t) { t.header().device_kernels.count = uint64_t{1} << 40; },
      [](DeviceTables& t) { t.header().device_kernels.count = 0; },
      [](DeviceTables& t) { t.header().device_kernels.offset_bytes += 1; },
      [](DeviceTables& t) { t.header().codes.count = 1; },
      [](DeviceTables& t) { t.header().codes.offset_bytes = uint64_t{1} << 40; },
      [](DeviceTables& t) { t.header().launches.count = 1; },
      [](DeviceTables& t) { t.header().launches.count = UINT64_MAX / 4; },
      [](DeviceTables& t) { t.header().codes_bytes.count = 6; },
      [](DeviceTables& t) { t.header().codes_bytes.count = uint64_t{1} << 40; },
      [](DeviceTables& t) { t.steps()[1].kernel = 1; },
      [](DeviceTables& t) { t.steps()[1].kind = TF_STEP_DOWNLOAD + 1; },
      [](DeviceTables& t) { t.steps()[1].index_buffer = 2; },
      [](DeviceTables& t) { t.steps()[1].index_bytes = 2; },
      [](DeviceTables& t) { t.steps()[1].made_dim = 0; },
      [](DeviceTables& t) { t.steps()[1].buffer_count = 20; },
      [](DeviceTables& t) { t.steps()[0].buffer_count = 0; },
      [](DeviceTables& t) { t.steps()[0].buffer_count = 2; },
      [](DeviceTables& t) { t.steps()[3].index_bytes = 4; },
      [](DeviceTables& t) { t.buffers()[0].size_bytes = 1025; },
      [](DeviceTables& t) { t.buffers()[0].index = 1; },
      [](DeviceTables& t) { t.buffers()[2].offset_bytes = 64; },
      [](DeviceTables& t) { t.buffers()[2].offset_bytes = 1024; },
      [](DeviceTables& t) { t.kernels()[0].code_count = 0; },
      [](DeviceTables& t) { t.kernels()[0].code_count = 3; },
      [](DeviceTables& t) { t.kernels()[0].first_code = 2; },
      [](DeviceTables& t) { t.kernels()[0].first_code = UINT32_MAX; },
      [](DeviceTables& t) { t.kernels()[0].launch_count = 3; },
      [](DeviceTables& t) { t.kernels()[0].first_launch = UINT32_MAX; },
      [](DeviceTables& t) { t.kernels()[0].workspace_bytes = UINT64_MAX; },
      [](DeviceTables& t) { t.codes()[0].kind = 0; },
      [](DeviceTables& t) { t.codes()[1].kind = 4; },
      [](DeviceTables& t) { t.codes()[1].byte_count = 0; },
      [](DeviceTables& t) { t.codes()[1].byte_count = UINT64_MAX; },
      [](DeviceTables& t) { t.codes()[0].first_byte = UINT64_MAX; },
      [](DeviceTables& t) { t.launches()[0].entry = 1 << 20; },
      [](DeviceTables& t) { t.launches()[0].block[0] = 0; },
      [](DeviceTables& t) { t.launches()[0].block[2] = 1024; },
      [](DeviceTables& t) { t.launches()[1].block[1] = TF_MOST_BLOCK_THREADS + 1; },
      [](DeviceTables& t) { t.launches()[0].grid[0] = UINT32_MAX; },
      [](DeviceTables& t) { t.launches()[0].shared_bytes = TF_MOST_SHARED_BYTES + 1; },
      [](DeviceTables& t) { t.header().tensor_maps.count = 0; },
      [](DeviceTables& t) { t.header().tensor_maps.count = UINT64_MAX / 4; },
      [](DeviceTables& t) { t.launches()[1].first_map = 1; },
      [](DeviceTables& t) { t.launches()[1].map_count = UINT32_MAX; },
      [](DeviceTables& t) { t.maps()[0].rank = 0; },
      [](DeviceTables& t) { t.maps()[0].rank = TF_MOST_TENSOR_AXES + 1; },
      [](DeviceTables& t) { t.maps()[0].rank = UINT32_MAX; },
      [](DeviceTables& t) { t.maps()[0].element_bytes = 0; },
      [](DeviceTables& t) { t.maps()[0].element_bytes = 3; },
      [](DeviceTables& t) { t.maps()[0].element_bytes = 16; },
      [](DeviceTables& t) { t.maps()[0].extents[0] = 0; },
      [](DeviceTables& t) { t.maps()[0].extents[0] = (uint64_t{1} << 32) + 1; },
      [](DeviceTables& t) { t.maps()[0].extents[1] = UINT64_MAX; },
      [](DeviceTables& t) { t.maps()[0].extents[1] = 63; },  // lines of 126 bytes
      [](DeviceTables& t) { t.maps()[0].box[0] = 0; },
      [](DeviceTables& t) { t.maps()[0].box[0] = 257; },
      [](DeviceTables& t) { t.maps()[0].box[1] = 4; },    // 8 bytes
      [](DeviceTables& t) { t.maps()[0].box[1] = 128; },  // two lines of the swizzle
  };
  ASSERT_TRUE(DeviceTables(device_model()).valid());
  for (size_t i = 0; i < damages.size(); ++i) {
    DeviceTables tables(device_model());
    damages[i](tables);
    EXPECT_FALSE(tables.valid()) << "damage " << i;
  }
}

// Whatever bytes they have, looking at them reads nothing beyond them.
// If kernels could share launches, these would be looked at once for each of them.
TEST(DeviceTables, KernelsHaveTheirOwnLaunches) {
  constexpr uint32_t kMany = 1 << 16;
  ModelDescription model = device_model();
  model.device_kernels.resize(kMany, model.device_kernels[0]);
  DeviceTables tables(model);
  EXPECT_TRUE(tables.valid());
  const auto set_all = [&](uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < kMany; ++i) {
      tables.kernels()[i].first_launch = first;
      tables.kernels()[i].launch_count = count;
    }
  };
  set_all(0, 2 * kMany);
  EXPECT_FALSE(tables.valid());
  set_all(0, 0);
  EXPECT_TRUE(tables.valid());
  set_all(0, 1);
  EXPECT_FALSE(tables.valid());
}

TEST(DeviceTables, OfAnyBytesAreReadWithinThem) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    DeviceTables tables(device_model());
    const uint64_t blob_bytes = tables.header().blob_bytes;
    auto* bytes = reinterpret_cast<uint8_t*>(&tables.header());
    for (int change = 0; change < 3; ++change)
      bytes[8 + random() % (blob_bytes - 8)] = static_cast<uint8_t>(random() % 4 == 0 ? 0xff : random());
    tables.header().blob_bytes = blob_bytes;  // the linker's, not the tables'
    refused += tables.valid() ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(DeviceTables, StepsOnADeviceAreInNoBody) {
  ModelDescription model = device_model();
  model.bodies.push_back(model);
  EXPECT_FALSE(DeviceTables(model).valid());
  model.bodies[0].steps.clear();
  EXPECT_TRUE(DeviceTables(model).valid());
}

// The same for 1 to 256 elements, of which the first launch takes one a thread.
ModelDescription sized_device_model() {
  ModelDescription model = device_model();
  model.dims.push_back({"n", 1, 256});
  const std::vector<int64_t> n_bytes = {TF_CODE_DIM, 0, TF_CODE_NUMBER, 4, TF_CODE_MUL};
  model.inputs[0].extents[0].code = {TF_CODE_DIM, 0};
  model.inputs[0].size_bytes.code = n_bytes;
  for (int step : {0, 1}) model.steps[static_cast<size_t>(step)].buffers[0].size_bytes.code = n_bytes;
  for (int step : {1, 2}) model.steps[static_cast<size_t>(step)].dims = {Sized(256, {TF_CODE_DIM, 0})};
  ModelDeviceKernel& kernel = model.device_kernels[0];
  kernel.dim_count = 1;
  kernel.launches[0].grid[0] =
      Sized(4, {TF_CODE_DIM, 0, TF_CODE_NUMBER, 63, TF_CODE_ADD, TF_CODE_NUMBER, 64, TF_CODE_FLOOR_DIV});
  return model;
}

TEST(DeviceTables, SizesOnADeviceVaryByFormulas) {
  EXPECT_TRUE(DeviceTables(sized_device_model()).valid());
  using Damage = std::function<void(DeviceTables&)>;
  const std::vector<Damage> damages = {
      [](DeviceTables& t) { t.kernels()[0].dim_count = 2; },
      [](DeviceTables& t) { t.kernels()[0].dim_count = 0; },
      [](DeviceTables& t) { t.steps()[2].dim_count = 0; },
      [](DeviceTables& t) { t.launches()[0].code_count[0] = 7; },
      [](DeviceTables& t) { t.launches()[0].code_count[0] = UINT32_MAX; },
      [](DeviceTables& t) { t.launches()[0].first_code[0] = UINT32_MAX; },
      [](DeviceTables& t) { t.launches()[0].code_count[1] = 1; },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    DeviceTables tables(sized_device_model());
    damages[i](tables);
    EXPECT_FALSE(tables.valid()) << "damage " << i;
  }
}

TEST(DeviceTables, SizesThatARunFindsAreTheHosts) {
  ModelDescription model = sized_device_model();
  model.dims.push_back({"found", 0, 8, TF_DIM_MADE});
  EXPECT_FALSE(DeviceTables(model).valid());
}

TEST(DeviceTables, ALaunchOfAKernelThatIsNotThereIsNotWritten) {
  ModelDescription model = device_model();
  model.steps[2].kernel = 1;
  EXPECT_EQ(encode_model(model).status().message(), "step step launches kernel 1 of 1");
}

TEST(DeviceTables, TellWhatIsUsedOnTheHost) {
  DeviceTables tables(device_model());
  EXPECT_TRUE(tf_used_on_host(&tables.header(), 0));  // its indices are checked there
  EXPECT_FALSE(tf_used_on_host(&tables.header(), 1));
  EXPECT_FALSE(tf_all_on_device(&tables.header()));
  ModelDescription model = device_model();
  model.steps[1].indices = {};
  DeviceTables others(model);
  EXPECT_FALSE(tf_used_on_host(&others.header(), 0));
  EXPECT_TRUE(tf_all_on_device(&others.header()));
}

TEST(NotedErrors, AreTheLastOfTheirKind) {
  tf_note_error(TF_MODEL_DEVICE_LOST, "first");
  const char* first = tf_noted_error(TF_MODEL_DEVICE_LOST);
  tf_note_error(TF_MODEL_DEVICE_LOST, "second");
  tf_note_error(TF_MODEL_NO_DRIVER, "third");
  EXPECT_STREQ(tf_noted_error(TF_MODEL_DEVICE_LOST), "second");
  EXPECT_STREQ(tf_noted_error(TF_MODEL_NO_DRIVER), "third");
  EXPECT_STREQ(first, "first");
  EXPECT_EQ(tf_noted_error(TF_MODEL_BAD_SIZE), nullptr);
}

}  // namespace
}  // namespace tf::runtime
