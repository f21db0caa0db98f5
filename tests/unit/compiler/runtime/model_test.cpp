#include "compiler/runtime/model.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"
#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/cpu_features.h"
#include "tests/unit/compiler/runtime/linked_library.h"

namespace {

using tf::runtime::encode_model;
using tf::runtime::Library;
using tf::runtime::ModelBuffer;
using tf::runtime::ModelDescription;

constexpr int kElems = 100;
constexpr uint64_t kBytes = kElems * sizeof(float);

// y = (x * 2 + weights) through an intermediate in the arena; the second kernel is parallel and uses its
// workspace.
ModelDescription two_steps() {
  ModelDescription model;
  model.inputs = {{.name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {4, 25}, .size_bytes = kBytes}};
  model.outputs = {{.name = "y", .element = TF_ELEMENT_FLOAT32, .extents = {kElems}, .size_bytes = kBytes}};
  model.kernel_count = 2;
  model.arena_bytes = 1024;
  model.weights_bytes = kBytes;
  model.steps = {{.name = "double",
                  .key = "abc",
                  .kernel = 0,
                  .buffers = {{TF_SPACE_INPUT, 0, 0, kBytes}, {TF_SPACE_ARENA, 0, 512, kBytes}},
                  .dims = {kElems},
                  .flops = 100},
                 {.name = "add",
                  .key = "",
                  .kernel = 1,
                  .buffers = {{TF_SPACE_ARENA, 0, 512, kBytes},
                              {TF_SPACE_WEIGHTS, 0, 0, kBytes},
                              {TF_SPACE_OUTPUT, 0, 0, kBytes}},
                  .dims = {kElems},
                  .workspace_bytes = 64,
                  .workspace_per_thread_bytes = 64,
                  .flops = 100,
                  .bytes = 1200}};
  return model;
}

class Model : public testing::Test {
 protected:
  void SetUp() override {
    auto blob = encode_model(two_steps());
    ASSERT_TRUE(blob.ok()) << blob.status();
    library_ = std::make_unique<Library>(*blob);
    ASSERT_TRUE(*library_);
  }
  std::unique_ptr<Library> library_;
};

TEST_F(Model, ComputesWithAlignedAndUnalignedBuffersAndAnyThreads) {
  for (int32_t threads : {1, 3}) {
    tf_model* model = nullptr;
    ASSERT_EQ(GET(*library_, tf_model_open)(threads, &model), TF_MODEL_OK);
    for (int shift : {0, 1}) {
      alignas(64) float x[kElems + 1], y[kElems + 1];
      for (int i = 0; i < kElems; ++i) x[i + shift] = 0.5f * static_cast<float>(i);
      std::memset(y, 0xff, sizeof y);
      const void* inputs[] = {x + shift};
      void* outputs[] = {y + shift};
      ASSERT_EQ(GET(*library_, tf_model_run)(model, inputs, outputs), TF_MODEL_OK);
      for (int i = 0; i < kElems; ++i) ASSERT_EQ(y[i + shift], 2.0f * static_cast<float>(i)) << i;
    }
    GET(*library_, tf_model_close)(model);
  }
}

TEST_F(Model, DescribesItsTensorsAndKernels) {
  tf_model* model = nullptr;
  ASSERT_EQ(GET(*library_, tf_model_open)(1, &model), TF_MODEL_OK);
  EXPECT_EQ(GET(*library_, tf_model_input_count)(model), 1);
  EXPECT_EQ(GET(*library_, tf_model_output_count)(model), 1);
  const tf_tensor_info* x = GET(*library_, tf_model_input)(model, 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->element, TF_ELEMENT_FLOAT32);
  EXPECT_EQ(std::vector<int64_t>(x->extents, x->extents + x->rank), (std::vector<int64_t>{4, 25}));
  EXPECT_STREQ(GET(*library_, tf_model_output)(model, 0)->name, "y");
  EXPECT_EQ(GET(*library_, tf_model_output)(model, 1), nullptr);
  ASSERT_EQ(GET(*library_, tf_model_kernel_count)(model), 2);
  EXPECT_STREQ(GET(*library_, tf_model_kernel)(model, 0)->key, "abc");
  EXPECT_EQ(GET(*library_, tf_model_kernel)(model, 1)->bytes, 1200);
  GET(*library_, tf_model_close)(model);
}

TEST_F(Model, ProfileSeesEveryKernelInOrder) {
  tf_model* model = nullptr;
  ASSERT_EQ(GET(*library_, tf_model_open)(1, &model), TF_MODEL_OK);
  struct Event {
    int32_t kernel;
    int64_t start_ns, end_ns;
  };
  std::vector<Event> events;
  GET(*library_, tf_model_set_profile)
  (
      model,
      [](void* context, int32_t kernel, int64_t start_ns, int64_t end_ns) {
        static_cast<std::vector<Event>*>(context)->push_back({kernel, start_ns, end_ns});
      },
      &events);
  alignas(64) float x[kElems] = {}, y[kElems];
  const void* inputs[] = {x};
  void* outputs[] = {y};
  ASSERT_EQ(GET(*library_, tf_model_run)(model, inputs, outputs), TF_MODEL_OK);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kernel, 0);
  EXPECT_EQ(events[1].kernel, 1);
  EXPECT_LE(events[0].start_ns, events[0].end_ns);
  EXPECT_LE(events[0].end_ns, events[1].start_ns);
  GET(*library_, tf_model_close)(model);
}

TEST_F(Model, RefusesBadArguments) {
  tf_model* model = nullptr;
  EXPECT_EQ(GET(*library_, tf_model_open)(-1, &model), TF_MODEL_BAD_ARGUMENT);
  ASSERT_EQ(GET(*library_, tf_model_open)(1, &model), TF_MODEL_OK);
  const void* inputs[] = {nullptr};
  float y[kElems];
  void* outputs[] = {y};
  EXPECT_EQ(GET(*library_, tf_model_run)(model, inputs, outputs), TF_MODEL_BAD_ARGUMENT);
  GET(*library_, tf_model_close)(model);
}

TEST_F(Model, ExportsNothingButItsInterface) {
  const std::string listing = library_->folder() + "/symbols";
  ASSERT_EQ(std::system(("nm -D --defined-only " + library_->folder() + "/model.so > " + listing).c_str()),
            0);
  std::ifstream in(listing);
  std::string address, kind, name;
  int count = 0;
  while (in >> address >> kind >> name) {
    EXPECT_EQ(name.rfind("tf_model_", 0), 0u) << name << " is visible to the programs that load the model";
    ++count;
  }
  EXPECT_EQ(count, 18);
}

TEST(ModelLibrary, OfAnotherVersionIsRefusedAndSaysWhatToDo) {
  std::string blob = *encode_model(two_steps());
  reinterpret_cast<tf_model_header*>(blob.data())->version = TF_MODEL_VERSION + 1;
  Library library(blob);
  ASSERT_TRUE(library);
  tf_model* model = nullptr;
  EXPECT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_BAD_LIBRARY);
  EXPECT_NE(
      std::string(GET(library, tf_model_error_text)(TF_MODEL_BAD_LIBRARY)).find("build the model again"),
      std::string::npos);
}

// Doubles the two halves of an input of 1024 bytes into the other half of the output.
ModelDescription swapped_halves() {
  ModelDescription model;
  model.inputs = {{.name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {256}, .size_bytes = 1024}};
  model.outputs = {{.name = "y", .element = TF_ELEMENT_FLOAT32, .extents = {256}, .size_bytes = 1024}};
  model.kernel_count = 2;
  model.weights_bytes = kBytes;
  for (const uint64_t from : {0, 512}) {
    model.steps.push_back({.name = "half",
                           .key = "",
                           .kernel = 0,
                           .buffers = {{TF_SPACE_INPUT, 0, from, 512}, {TF_SPACE_OUTPUT, 0, 512 - from, 512}},
                           .dims = {128}});
  }
  return model;
}

TEST(ModelLibrary, GivesKernelsBuffersThatBeginInsideInputsAndOutputs) {
  const auto blob = encode_model(swapped_halves());
  ASSERT_TRUE(blob.ok()) << blob.status();
  Library library(*blob);
  ASSERT_TRUE(library);
  tf_model* model = nullptr;
  ASSERT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_OK);
  for (int shift : {0, 1}) {
    alignas(64) float x[257], y[257];
    for (int i = 0; i < 256; ++i) x[i + shift] = static_cast<float>(i);
    std::memset(y, 0xff, sizeof y);
    const void* inputs[] = {x + shift};
    void* outputs[] = {y + shift};
    ASSERT_EQ(GET(library, tf_model_run)(model, inputs, outputs), TF_MODEL_OK);
    for (int i = 0; i < 256; ++i) ASSERT_EQ(y[i + shift], 2.0f * static_cast<float>((i + 128) % 256)) << i;
  }
  GET(library, tf_model_close)(model);
}

// y = 2x or y = 4x, as the condition, the second input, says.
ModelDescription branching() {
  const tf::runtime::ModelTensor x = {
      .name = "x", .element = TF_ELEMENT_FLOAT32, .extents = {16}, .size_bytes = 64};
  tf::runtime::ModelProgram once, twice;
  once.inputs = twice.inputs = {x};
  once.outputs = twice.outputs = {x};
  twice.arena_bytes = 64;
  const ModelBuffer in = {TF_SPACE_INPUT, 0, 0, 64}, out = {TF_SPACE_OUTPUT, 0, 0, 64},
                    between = {TF_SPACE_ARENA, 0, 0, 64};
  once.steps = {{.name = "double", .kernel = 0, .buffers = {in, out}, .dims = {16}}};
  twice.steps = {{.name = "double", .kernel = 0, .buffers = {in, between}, .dims = {16}},
                 {.name = "again", .kernel = 0, .buffers = {between, out}, .dims = {16}}};
  ModelDescription model;
  model.inputs = {x, {.name = "c", .element = TF_ELEMENT_BOOL, .extents = {}, .size_bytes = 1}};
  model.outputs = {x};
  model.kernel_count = 2;
  model.arena_bytes = 64;
  model.bodies = {once, twice};
  model.steps = {{.name = "if",
                  .kind = TF_STEP_BRANCH,
                  .body = 1,
                  .other_body = 2,
                  .buffers = {{TF_SPACE_INPUT, 1, 0, 1}, in, out, {TF_SPACE_ARENA, 0, 0, 64}}}};
  return model;
}

TEST(ModelLibrary, RunsTheBranchOfTheCondition) {
  const Library library(*encode_model(branching()));
  ASSERT_TRUE(library);
  tf_model* model = nullptr;
  ASSERT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_OK);
  for (const bool condition : {true, false}) {
    alignas(64) float x[16], y[16];
    for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    const void* inputs[] = {x, &condition};
    void* outputs[] = {y};
    ASSERT_EQ(GET(library, tf_model_run)(model, inputs, outputs), TF_MODEL_OK);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], (condition ? 2 : 4) * x[i]);
  }
  GET(library, tf_model_close)(model);
}

TEST(ModelLibrary, IsRefusedIfControlFlowIsInconsistent) {
  using Change = void (*)(ModelDescription & model);
  const Change changes[] = {[](ModelDescription& model) { model.steps[0].body = 0; },
                            [](ModelDescription& model) { model.steps[0].other_body = 3; },
                            [](ModelDescription& model) { model.steps[0].kind = 7; },
                            [](ModelDescription& model) { model.steps[0].kind = TF_STEP_LOOP; },
                            [](ModelDescription& model) { model.steps[0].buffers.pop_back(); },
                            [](ModelDescription& model) { model.bodies[0].inputs.clear(); },
                            [](ModelDescription& model) {
                              model.steps[0].kind = TF_STEP_LOOP;
                              model.steps[0].dims = {0, 1, INT64_MAX, 0};
                            }};
  for (const Change change : changes) {
    ModelDescription model = branching();
    change(model);
    const auto blob = encode_model(model);
    if (!blob.ok()) continue;  // whoever writes it sees it
    const Library library(*blob);
    ASSERT_TRUE(library);
    tf_model* opened = nullptr;
    EXPECT_EQ(GET(library, tf_model_open)(1, &opened), TF_MODEL_BAD_LIBRARY)
        << "change " << &change - changes;
  }
}

TEST(ModelLibrary, IsRefusedIfABufferReachesBeyondAnOutput) {
  std::string blob = *encode_model(swapped_halves());
  const auto& header = *reinterpret_cast<const tf_model_header*>(blob.data());
  reinterpret_cast<tf_model_buffer*>(blob.data() + header.buffers.offset_bytes)[1].offset_bytes = 576;
  Library library(blob);
  ASSERT_TRUE(library);
  tf_model* model = nullptr;
  EXPECT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_BAD_LIBRARY);
}

TEST(ModelLibrary, RunsNoModelThatAnotherLibraryOpened) {
  const Library first(*encode_model(two_steps())), second(*encode_model(two_steps()));
  ASSERT_TRUE(first && second);
  tf_model* model = nullptr;
  ASSERT_EQ(GET(first, tf_model_open)(1, &model), TF_MODEL_OK);
  float x[kElems] = {}, y[kElems] = {};
  const void* inputs[] = {x};
  void* outputs[] = {y};
  EXPECT_EQ(GET(second, tf_model_run)(model, inputs, outputs), TF_MODEL_BAD_ARGUMENT);
  EXPECT_EQ(GET(first, tf_model_run)(model, inputs, outputs), TF_MODEL_OK);
  GET(first, tf_model_close)(model);
}

TEST(ModelLibrary, ForACpuFeatureThatThisMachineLacksIsRefusedByItsName) {
  const std::string blob = *encode_model(two_steps());
  int missing = 0, there = 0;
  for (int32_t i = 0; const char* name = tf_cpu_feature_name(i); ++i) {
    const std::string features(name, std::strlen(name) + 1);
    const std::string list = features + '\0';
    const int32_t error = tf_missing_feature(list.c_str());
    (error == TF_MODEL_OK ? there : missing) += 1;
    if (error == TF_MODEL_OK) continue;
    ASSERT_EQ(error, TF_MODEL_MISSING_FEATURE + i);
    const Library library(blob, {.features = std::string(".asciz \"") + name + "\"\n"});
    ASSERT_TRUE(library);
    tf_model* model = nullptr;
    EXPECT_EQ(GET(library, tf_model_open)(1, &model), error);
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(GET(library, tf_model_error_text)(error)).find(std::string("lacks ") + name + ","),
              std::string::npos);
  }
  if (missing == 0) GTEST_SKIP() << "this machine has every feature that models use";
  EXPECT_GT(there, 0);
}

TEST(ModelLibrary, ForAFeatureThatTheRuntimeDoesNotKnowIsOfAnotherVersion) {
  const Library library(*encode_model(two_steps()), {.features = ".asciz \"amx-tile9\"\n"});
  ASSERT_TRUE(library);
  tf_model* model = nullptr;
  EXPECT_EQ(GET(library, tf_model_open)(1, &model), TF_MODEL_BAD_LIBRARY);
}

TEST(ModelBlob, NamesTheStepWhoseBufferIsOutsideItsSpace) {
  for (ModelBuffer bad : {ModelBuffer{TF_SPACE_ARENA, 0, 960, 128}, ModelBuffer{TF_SPACE_ARENA, 0, 8, 8},
                          ModelBuffer{TF_SPACE_INPUT, 1, 0, 8}, ModelBuffer{TF_SPACE_INPUT, 0, 32, 8},
                          ModelBuffer{TF_SPACE_OUTPUT, 0, 64, kBytes}, ModelBuffer{9, 0, 0, 8}}) {
    ModelDescription model = two_steps();
    model.steps[1].buffers[0] = bad;
    const auto blob = encode_model(model);
    ASSERT_FALSE(blob.ok());
    EXPECT_THAT(std::string(blob.status().message()), testing::HasSubstr("step add"));
  }
}

}  // namespace
