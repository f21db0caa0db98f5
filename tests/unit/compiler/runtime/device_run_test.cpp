// Running a model's steps on a driver that only notes what it is asked, and fails where a test wants it to.
#include "compiler/runtime/device/device_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/executor/sizes.h"
#include "compiler/runtime/executor/tables.h"

namespace tf::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What was asked of the driver, and what goes wrong.
struct Asked {
  std::vector<std::string> calls;
  std::string fails;  // the call that fails; "load cubin" names a code
  bool has_driver = true, is_lost = false, has_graphs = true;
  uint32_t alignment_bytes = 256;
  int opened = -1;
  int open_memories = 0, open_programs = 0, open_graphs = 0;
};
Asked asked;

// What the driver hands out, as whatever it is asked for.
struct Handed {
  std::string name;
};
Handed the_device;
std::vector<std::unique_ptr<Handed>> handed_kernels;  // those of programs, whose end this is not about

template <typename T>
T* hand_out(const char* name = "") {
  return reinterpret_cast<T*>(new Handed{name});
}
template <typename T>
Handed* taken(T* object) {
  return reinterpret_cast<Handed*>(object);
}

bool note(const std::string& call, char* error) {
  asked.calls.push_back(call);
  if (asked.fails != call) return true;
  std::snprintf(error, gpu::kErrorChars, "the driver says: no %s", call.c_str());
  return false;
}

gpu::Driver fake_driver() {
  gpu::Driver driver = {};
  driver.name = "fake";
  driver.count = [](char* error) {
    if (!asked.has_driver) std::snprintf(error, gpu::kErrorChars, "the driver is not installed");
    return asked.has_driver ? 2 : -1;
  };
  driver.open_in = [](int index, void*, void*, char* error) {
    asked.opened = index;
    return note("open", error) ? reinterpret_cast<gpu::Device*>(&the_device) : nullptr;
  };
  driver.handles = [](const gpu::Device*, int* index, void** context, void** queue) {
    *index = asked.opened;
    *context = *queue = &the_device;
  };
  driver.close = [](gpu::Device*) { asked.calls.emplace_back("close"); };
  driver.facts = [](gpu::Device*, gpu::Facts* facts) {
    *facts = {};
    facts->alignment_bytes = asked.alignment_bytes;
  };
  driver.is_lost = [](const gpu::Device*) { return asked.is_lost; };
  driver.load = [](gpu::Device*, const void* code, uint64_t size, char* error) -> gpu::Program* {
    if (!note("load " + std::string(static_cast<const char*>(code), size), error)) return nullptr;
    ++asked.open_programs;
    return hand_out<gpu::Program>();
  };
  driver.unload = [](gpu::Program* program) {
    --asked.open_programs;
    delete taken(program);
  };
  driver.find = [](gpu::Program*, const char* entry, char* error) -> gpu::Kernel* {
    if (!note(std::string("find ") + entry, error)) return nullptr;
    auto* kernel = hand_out<gpu::Kernel>(entry);
    handed_kernels.emplace_back(taken(kernel));
    return kernel;
  };
  driver.allocate = [](gpu::Device*, uint64_t size, char* error) -> gpu::Memory* {
    if (!note("allocate " + std::to_string(size), error)) return nullptr;
    ++asked.open_memories;
    return hand_out<gpu::Memory>();
  };
  driver.wrap = [](gpu::Device*, void*, uint64_t size, char* error) -> gpu::Memory* {
    if (!note("wrap " + std::to_string(size), error)) return nullptr;
    ++asked.open_memories;
    return hand_out<gpu::Memory>();
  };
  driver.free = [](gpu::Memory* memory) {
    --asked.open_memories;
    delete taken(memory);
  };
  driver.upload = [](gpu::Memory*, uint64_t, const void*, uint64_t size, char* error) {
    return note("upload " + std::to_string(size), error);
  };
  driver.download = [](void*, const gpu::Memory*, uint64_t, uint64_t size, char* error) {
    return note("download " + std::to_string(size), error);
  };
  driver.bind = [](gpu::Kernel* kernel, const gpu::Argument*, uint32_t count, const int64_t* dims,
                   uint32_t dim_count, char* error) {
    std::string call = "bind " + taken(kernel)->name + " " + std::to_string(count);
    for (uint32_t i = 0; i < dim_count; ++i) call += " d" + std::to_string(dims[i]);
    return note(call, error);
  };
  driver.map = [](gpu::Kernel* kernel, const gpu::TensorMap* maps, uint32_t count, char* error) {
    return note("map " + taken(kernel)->name + " " + std::to_string(count) + " of " +
                    std::to_string(maps[0].extents[1]),
                error);
  };
  driver.launch = [](gpu::Kernel* kernel, const gpu::LaunchSize& size, char* error) {
    const bool usual = size.grid[0] == 4 || size.grid[0] == 1;
    return note("launch " + taken(kernel)->name + (usual ? "" : " " + std::to_string(size.grid[0])), error);
  };
  driver.finish = [](gpu::Device*, char* error) { return note("finish", error); };
  driver.begin_time = [](gpu::Device*, char* error) { return note("begin_time", error); };
  driver.end_time = [](gpu::Device*, int64_t* ns, char* error) {
    *ns = 77;
    return note("end_time", error);
  };
  if (!asked.has_graphs) return driver;
  driver.make_graph = [](gpu::Device*, const gpu::GraphLaunch*, uint32_t count, char* error) -> gpu::Graph* {
    if (!note("make_graph " + std::to_string(count), error)) return nullptr;
    ++asked.open_graphs;
    return hand_out<gpu::Graph>();
  };
  driver.launch_graph = [](gpu::Graph*, char* error) { return note("launch_graph", error); };
  driver.drop_graph = [](gpu::Graph* graph) {
    --asked.open_graphs;
    delete taken(graph);
  };
  return driver;
}

// x is uploaded; two launches of kernel 0, which is two launches, through the arena; y is downloaded.
ModelDescription model_of_two_launches() {
  ModelDescription model;
  model.inputs.push_back({"x", TF_ELEMENT_INT32, {256}, 1024});
  model.outputs.push_back({"y", TF_ELEMENT_INT32, {128}, 512});
  model.arena_bytes = 1024;
  model.weights_bytes = 512;
  const ModelBuffer x = {TF_SPACE_INPUT, 0, 0, 1024}, arena = {TF_SPACE_ARENA, 0, 512, 512},
                    w = {TF_SPACE_WEIGHTS, 0, 0, 512}, y = {TF_SPACE_OUTPUT, 0, 0, 512};
  const auto step = [&](uint32_t kind, std::vector<ModelBuffer> buffers) {
    ModelStep made{.name = "step", .kind = kind, .key = ""};
    made.buffers = std::move(buffers);
    return made;
  };
  model.steps = {step(TF_STEP_UPLOAD, {x}), step(TF_STEP_LAUNCH, {x, w, arena}),
                 step(TF_STEP_LAUNCH, {arena, y}), step(TF_STEP_DOWNLOAD, {y})};
  model.kernel_count = 1;
  model.device_function = 0;
  ModelDeviceKernel kernel;
  kernel.codes = {{TF_DEVICE_CODE_CUBIN, "cubin"}, {TF_DEVICE_CODE_PTX, "ptx"}};
  kernel.launches = {{"a", 0, {4, 1, 1}, {32, 2, 1}},
                     {"b",
                      0,
                      {1, 1, 1},
                      {1, 1, 1},
                      {{.buffer = 0, .element_bytes = 2, .extents = {4, 64}, .box = {4, 64}}}}};
  kernel.workspace_bytes = 128;
  model.device_kernels = {kernel};
  return model;
}

// x has n elements, of which y are the first half; launch a has a block for each 32 of n.
ModelDescription model_of_any_size() {
  ModelDescription model = model_of_two_launches();
  const Sized n(256, {TF_CODE_DIM, 0}), n_bytes(1024, {TF_CODE_DIM, 0, TF_CODE_NUMBER, 4, TF_CODE_MUL}),
      half_bytes(512, {TF_CODE_DIM, 0, TF_CODE_NUMBER, 2, TF_CODE_MUL});
  model.dims.push_back({.name = "n", .low = 0, .high = 256, .multiple_of = 2});
  model.inputs[0].extents[0] = n;
  model.inputs[0].size_bytes = n_bytes;
  model.outputs[0].extents[0] = Sized(128, {TF_CODE_DIM, 0, TF_CODE_NUMBER, 2, TF_CODE_FLOOR_DIV});
  model.outputs[0].size_bytes = half_bytes;
  model.steps[0].buffers[0].size_bytes = model.steps[1].buffers[0].size_bytes = n_bytes;
  model.steps[2].buffers[1].size_bytes = model.steps[3].buffers[0].size_bytes = half_bytes;
  model.steps[1].dims = model.steps[2].dims = {n};
  model.device_kernels[0].dim_count = 1;
  model.device_kernels[0].launches[0].grid[0] =
      Sized(8, {TF_CODE_DIM, 0, TF_CODE_NUMBER, 31, TF_CODE_ADD, TF_CODE_NUMBER, 32, TF_CODE_FLOOR_DIV});
  return model;
}

class DeviceRun : public testing::Test {
 protected:
  explicit DeviceRun(const ModelDescription& model = model_of_two_launches())
      : blob_(*encode_model(model)), words_((blob_.size() + 7) / 8) {
    asked = {};
    std::memcpy(words_.data(), blob_.data(), blob_.size());
    run_.header = reinterpret_cast<const tf_model_header*>(words_.data());
    EXPECT_TRUE(tf_tables_valid(run_.header));
    buffers_.resize(run_.header->buffers.count);
    run_.buffers = buffers_.data();
    sizes_bytes_.resize(run_.header->buffers.count + 1);
    run_.sizes_bytes = sizes_bytes_.data();
    EXPECT_TRUE(tf_make_sizes(&run_));
  }
  ~DeviceRun() override { tf_free_sizes(&run_); }
  void TearDown() override {
    if (device_ != nullptr) tf_close_device_run(device_);
    EXPECT_EQ(asked.open_memories, 0);
    EXPECT_EQ(asked.open_programs, 0);
    EXPECT_EQ(asked.open_graphs, 0);
  }

  int32_t open(const tf_device* choice = nullptr) {
    driver_ = fake_driver();
    return tf_open_device_run(driver_, (1u << TF_DEVICE_CODE_CUBIN) | (1u << TF_DEVICE_CODE_PTX), &run_,
                              weights_, choice, &device_);
  }
  // One run of all steps, with the caller's memory for x and y, or null.
  std::vector<std::string> run(void* x = nullptr, void* y = nullptr) {
    asked.calls.clear();
    void* const given[] = {x, y};
    error_ = tf_give_device_memory(device_, &run_, given);
    for (uint32_t step = 0; step < 4 && error_ == TF_MODEL_OK; ++step)
      error_ = tf_run_device_step(device_, &run_, step, nullptr);
    return asked.calls;
  }

  const std::string blob_;
  std::vector<uint64_t> words_;
  std::vector<void*> buffers_;
  std::vector<uint64_t> sizes_bytes_;
  uint8_t weights_[512] = {};
  tf_execution run_ = {};
  gpu::Driver driver_ = {};
  tf_device_run* device_ = nullptr;
  int32_t error_ = 0;
};

TEST_F(DeviceRun, TakesWeightsAndCodeToTheDeviceOnce) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  EXPECT_THAT(asked.calls, ElementsAre("open", "allocate 1024", "allocate 512", "allocate 1024",
                                       "allocate 512", "allocate 128", "load cubin", "find a", "find b",
                                       "bind a 4", "bind b 4", "map b 1 of 64", "find a", "find b",
                                       "bind a 3", "bind b 3", "map b 1 of 64", "upload 512"));
  EXPECT_STREQ(tf_describe_device(device_)->driver, "fake");
  EXPECT_EQ(tf_describe_device(device_)->queue, &the_device);
}

TEST_F(DeviceRun, TakesTheNextCodeWhereTheDeviceRefusesTheFirst) {
  asked.fails = "load cubin";
  ASSERT_EQ(open(), TF_MODEL_OK);
  EXPECT_THAT(asked.calls, testing::IsSupersetOf({"load cubin", "load ptx"}));
}

TEST_F(DeviceRun, RunsItsLaunchesAsOneGraphFromTheSecondRunOn) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  EXPECT_THAT(run(),
              ElementsAre("upload 1024", "launch a", "launch b", "launch a", "launch b", "download 512"));
  EXPECT_THAT(run(), ElementsAre("make_graph 4", "upload 1024", "launch_graph", "download 512"));
  EXPECT_THAT(run(), ElementsAre("upload 1024", "launch_graph", "download 512"));
  // Of a profile each launch is timed by itself.
  asked.calls.clear();
  int64_t ns = 0;
  ASSERT_EQ(tf_run_device_step(device_, &run_, 2, &ns), TF_MODEL_OK);
  EXPECT_EQ(ns, 77);
  EXPECT_THAT(asked.calls, ElementsAre("begin_time", "launch a", "launch b", "end_time"));
}

TEST_F(DeviceRun, WithoutGraphsItLaunchesOneByOne) {
  asked.has_graphs = false;
  ASSERT_EQ(open(), TF_MODEL_OK);
  run();
  EXPECT_THAT(run(),
              ElementsAre("upload 1024", "launch a", "launch b", "launch a", "launch b", "download 512"));
  asked.has_graphs = true;
}

TEST_F(DeviceRun, AGraphThatCannotBeMadeIsLaunchedOneByOne) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  asked.fails = "make_graph 4";
  run();
  EXPECT_THAT(run(), ElementsAre("make_graph 4", "upload 1024", "launch a", "launch b", "launch a",
                                 "launch b", "download 512"));
  EXPECT_THAT(run(),
              ElementsAre("upload 1024", "launch a", "launch b", "launch a", "launch b", "download 512"));
}

TEST_F(DeviceRun, MemoryOfTheCallerIsBoundAndNotCopied) {
  int x = 0, y = 0, z = 0;
  ASSERT_EQ(open(), TF_MODEL_OK);
  EXPECT_THAT(run(&x, &y),
              ElementsAre("wrap 1024", "wrap 512", "bind a 4", "bind b 4", "map b 1 of 64", "bind a 3",
                          "bind b 3", "map b 1 of 64", "launch a", "launch b", "launch a", "launch b"));
  EXPECT_THAT(run(&x, &y), testing::IsSupersetOf({"make_graph 4", "launch_graph"}));
  // Other memory: other arguments.
  EXPECT_THAT(run(&x, &z), testing::Not(testing::Contains(HasSubstr("graph"))));
  EXPECT_THAT(run(&x),
              ElementsAre("wrap 1024", "bind a 4", "bind b 4", "map b 1 of 64", "bind a 3", "bind b 3",
                          "map b 1 of 64", "launch a", "launch b", "launch a", "launch b", "download 512"));
  EXPECT_THAT(run(), testing::IsSupersetOf({"upload 1024", "download 512"}));
}

TEST_F(DeviceRun, SaysWhatIsMissingInTheDriversWords) {
  struct {
    const char* fails;
    int32_t error;
    const char* text;
  } const cases[] = {
      {"open", TF_MODEL_NO_DEVICE, "the driver says: no open"},
      {"allocate 512", TF_MODEL_DEVICE_MEMORY, "the driver says: no allocate 512"},
      {"load ptx", TF_MODEL_OK, ""},
      {"find b", TF_MODEL_DEVICE_REFUSES, "the driver says: no find b"},
      {"bind a 3", TF_MODEL_DEVICE_FAILED, "the driver says: no bind a 3"},
      {"upload 512", TF_MODEL_DEVICE_FAILED, "the driver says: no upload 512"},
  };
  for (const auto& each : cases) {
    asked.fails = each.fails;
    EXPECT_EQ(open(), each.error) << each.fails;
    if (each.error != TF_MODEL_OK) {
      EXPECT_STREQ(tf_noted_error(each.error), each.text);
    }
    if (device_ != nullptr) tf_close_device_run(device_);
    device_ = nullptr;
  }
  asked.fails.clear();
  asked.has_driver = false;
  EXPECT_EQ(open(), TF_MODEL_NO_DRIVER);
  EXPECT_STREQ(tf_noted_error(TF_MODEL_NO_DRIVER), "the driver is not installed");
  asked.has_driver = true;
  asked.alignment_bytes = 1024;
  EXPECT_EQ(open(), TF_MODEL_DEVICE_REFUSES);
  EXPECT_THAT(tf_noted_error(TF_MODEL_DEVICE_REFUSES), HasSubstr("wants memory aligned to 1024 bytes"));
}

TEST_F(DeviceRun, OpensTheDeviceThatTheEnvironmentNames) {
  for (const char* wrong : {"", "gpu", "-1", "1 ", "4294967296", "99999999999999999999999"}) {
    setenv("TF_DEVICE", wrong, 1);
    EXPECT_EQ(open(), TF_MODEL_NO_DEVICE) << wrong;
    EXPECT_EQ(tf_noted_error(TF_MODEL_NO_DEVICE),
              "TF_DEVICE is \"" + std::string(wrong) + "\", not the number of a device");
  }
  setenv("TF_DEVICE", "1", 1);
  EXPECT_EQ(open(), TF_MODEL_OK);
  unsetenv("TF_DEVICE");
  EXPECT_EQ(asked.opened, 1);
  EXPECT_EQ(tf_describe_device(device_)->index, 1);
}

TEST_F(DeviceRun, ALostDeviceIsToldFromARefusal) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  asked.fails = "launch b";
  run();
  EXPECT_EQ(error_, TF_MODEL_DEVICE_FAILED);
  asked.is_lost = true;
  asked.fails = "launch_graph";
  run();
  EXPECT_EQ(error_, TF_MODEL_DEVICE_LOST);
  EXPECT_STREQ(tf_noted_error(TF_MODEL_DEVICE_LOST), "the driver says: no launch_graph");
}

class SizedDeviceRun : public DeviceRun {
 protected:
  SizedDeviceRun() : DeviceRun(model_of_any_size()) {}

  std::vector<std::string> run_at(int64_t n) {
    EXPECT_EQ(tf_set_sizes(&run_, &n), TF_MODEL_OK);
    return run();
  }
};

TEST_F(SizedDeviceRun, KernelsGetTheSizesOfTheRun) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  EXPECT_THAT(asked.calls, testing::IsSupersetOf({"bind a 4 d256", "bind b 4 d256"}));
  EXPECT_THAT(run_at(34), ElementsAre("bind a 4 d34", "bind b 4 d34", "map b 1 of 64", "bind a 3 d34",
                                      "bind b 3 d34", "map b 1 of 64", "upload 136", "launch a 2", "launch b",
                                      "launch a 2", "launch b", "download 68"));
  EXPECT_THAT(run_at(0), testing::IsSupersetOf({"bind a 4 d0", "upload 0", "launch a 0", "download 0"}));
}

TEST_F(SizedDeviceRun, GraphsAreOfOneSize) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  run_at(34);
  EXPECT_THAT(run_at(34), ElementsAre("make_graph 4", "upload 136", "launch_graph", "download 68"));
  EXPECT_THAT(run_at(34), ElementsAre("upload 136", "launch_graph", "download 68"));
  EXPECT_THAT(run_at(36), testing::Not(testing::Contains(HasSubstr("graph"))));
  EXPECT_THAT(run_at(36), ElementsAre("make_graph 4", "upload 144", "launch_graph", "download 72"));
}

// More blocks than the tables plan for.
class TooManyBlocks : public DeviceRun {
 protected:
  static ModelDescription model() {
    ModelDescription model = model_of_any_size();
    model.device_kernels[0].launches[0].grid[0].value = 3;
    return model;
  }
  TooManyBlocks() : DeviceRun(model()) {}
};

TEST_F(TooManyBlocks, AreNotLaunched) {
  ASSERT_EQ(open(), TF_MODEL_OK);
  for (const int64_t n : {96, 98}) {
    ASSERT_EQ(tf_set_sizes(&run_, &n), TF_MODEL_OK);
    run();
    EXPECT_EQ(error_, n == 96 ? TF_MODEL_OK : TF_MODEL_BAD_SIZE);
  }
}

}  // namespace
}  // namespace tf::runtime
