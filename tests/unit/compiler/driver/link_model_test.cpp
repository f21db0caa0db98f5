// A model from real kernels, linked by a worker and run through the C API that it exports.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/driver/build_pool.h"
#include "compiler/ops/elementwise.h"
#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/model.h"
#include "compiler/tensor/workload.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;

constexpr int64_t kElems = 24;
constexpr uint64_t kBytes = kElems * sizeof(float);

class LinkModel : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<BuildPool>> pool = BuildPool::create({});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }

  // y = x + w, as an object file.
  void build_add_kernel() {
    ops::Builder b;
    ops::Buffer x = b.input("x", tensor::Element::kFloat32, {tensor::imm(kElems)});
    ops::Buffer w = b.constant("w", tensor::Element::kFloat32, {tensor::imm(kElems)});
    absl::StatusOr<tensor::Workload> workload = b.finish({ops::bias_add(b, x, w, 0)});
    ASSERT_TRUE(workload.ok()) << workload.status();
    proto::BuildRequest request;
    request.mutable_kernel()->set_workload(tensor::canonical_text(*workload));
    request.mutable_kernel()->set_target("host");
    request.mutable_kernel()->set_entry("add_kernel");
    request.mutable_kernel()->set_use(proto::KERNEL_USE_MODEL);
    absl::StatusOr<proto::BuildReply> reply = pool_->build(request);
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->code(), 0) << reply->message();
    object_ = reply->artifact().blobs(0).content();
  }

  // Two steps of the same kernel: y = (x + w) + w.
  void write_tables() {
    runtime::ModelDescription model;
    model.inputs = {{"x", TF_ELEMENT_FLOAT32, {kElems}, kBytes}};
    model.outputs = {{"y", TF_ELEMENT_FLOAT32, {kElems}, kBytes}};
    model.kernel_count = 1;
    model.arena_bytes = 128;
    model.weights_bytes = kBytes;
    runtime::ModelBuffer weights = {TF_SPACE_WEIGHTS, 0, 0, kBytes};
    model.steps = {{.name = "first",
                    .buffers = {{TF_SPACE_INPUT, 0, 0, kBytes}, weights, {TF_SPACE_ARENA, 0, 0, kBytes}}},
                   {.name = "second",
                    .buffers = {{TF_SPACE_ARENA, 0, 0, kBytes}, weights, {TF_SPACE_OUTPUT, 0, 0, kBytes}}}};
    absl::StatusOr<std::string> blob = runtime::encode_model(model);
    ASSERT_TRUE(blob.ok()) << blob.status();
    blob_ = *blob;
    std::vector<float> values(kElems);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f;
    weights_.assign(reinterpret_cast<const char*>(values.data()), kBytes);
  }

  proto::BuildReply link() {
    proto::BuildRequest request;
    proto::LinkModelRequest& link = *request.mutable_link();
    proto::LinkModelRequest::Kernel& kernel = *link.add_kernels();
    kernel.set_entry("add_kernel");
    kernel.set_object(object_);
    link.set_blob(blob_);
    link.set_weights_bytes(weights_.size());
    link.set_runtime_archive(*read_file(TF_RUNTIME_MODEL_ARCHIVE));
    link.set_target("host");
    link.set_prefix("sum");
    absl::StatusOr<proto::BuildReply> reply = pool_->build(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : proto::BuildReply();
  }

  std::string object_, blob_, weights_;
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<BuildPool> pool_;
};

TEST_F(LinkModel, GivesALibraryThatRunsItsKernelsOnItsWeights) {
  build_add_kernel();
  write_tables();
  proto::BuildReply reply = link();
  ASSERT_EQ(reply.code(), 0) << reply.message();
  EXPECT_EQ(reply.model().before().size() % 4096, 0u) << "weights are aligned in the file as in memory";
  ASSERT_TRUE(write_file(folder_.file("model.so"),
                         absl::StrCat(reply.model().before(), weights_, reply.model().after()))
                  .ok());
  void* handle = dlopen(folder_.file("model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto open = reinterpret_cast<decltype(&tf_model_open)>(dlsym(handle, "sum_open"));
  auto run = reinterpret_cast<decltype(&tf_model_run)>(dlsym(handle, "sum_run"));
  auto close = reinterpret_cast<decltype(&tf_model_close)>(dlsym(handle, "sum_close"));
  ASSERT_TRUE(open && run && close);
  for (const char* hidden : {"add_kernel", "tf_model_open", "tf_model_blob", "tf_runtime_create"})
    EXPECT_EQ(dlsym(handle, hidden), nullptr) << hidden << " would mix with another model's";
  EXPECT_STREQ(static_cast<const char*>(dlsym(handle, "tf_model_prefix")), "sum");
  tf_model* model = nullptr;
  ASSERT_EQ(open(2, &model), TF_MODEL_OK);
  std::vector<float> x(kElems, 1.0f), y(kElems, -1.0f);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  EXPECT_EQ(run(model, inputs, outputs), TF_MODEL_OK);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 1.0f + static_cast<float>(i) * 0.5f);
  close(model);
  dlclose(handle);
}

TEST_F(LinkModel, WithoutWeightsIsWholeBeforeThem) {
  build_add_kernel();
  write_tables();
  weights_.clear();
  const proto::BuildReply reply = link();
  ASSERT_EQ(reply.code(), 0) << reply.message();
  EXPECT_NE(reply.model().before(), "");
  EXPECT_EQ(reply.model().after(), "");
}

TEST_F(LinkModel, TakesNoPrefixThatIsNotAnIdentifier) {
  write_tables();
  proto::BuildRequest request;
  request.mutable_link()->set_target("host");
  for (const char* prefix : {"", "a-b", "1st", "a; local"}) {
    request.mutable_link()->set_prefix(prefix);
    const absl::StatusOr<proto::BuildReply> reply = pool_->build(request);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->code(), static_cast<int>(absl::StatusCode::kInvalidArgument)) << prefix;
  }
}

TEST_F(LinkModel, PassesOnWhatTheLinkerSays) {
  build_add_kernel();
  write_tables();
  object_ = "no object";
  proto::BuildReply reply = link();
  EXPECT_EQ(reply.code(), static_cast<int>(absl::StatusCode::kInternal));
  EXPECT_THAT(reply.message(), ::testing::HasSubstr("add_kernel.o"));
}

}  // namespace
}  // namespace tf::driver
