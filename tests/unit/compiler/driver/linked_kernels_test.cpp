// Linking spoils no kernel: in a model of many, among them identical ones and ones whose constants and inner
// functions have the same names, each gives bit for bit what it gives as a library of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/reduction.h"
#include "compiler/recipes/recipes.h"
#include "compiler/runtime/blob/model_blob.h"
#include "compiler/runtime/model.h"
#include "compiler/tensor/workload.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;
using ops::UnaryKind;
using tensor::Element;
using tensor::imm;

constexpr int kThreads = 2;

tensor::Workload product(Element element, int64_t columns) {
  ops::Builder b;
  const auto x = b.input("x", element, {imm(37), imm(64)});
  const auto w = b.constant("w", element, {imm(64), imm(columns)});
  return *b.finish({ops::matmul(b, x, w)});
}

tensor::Workload convolution(double slope) {
  ops::Builder b;
  const auto x = b.input("x", Element::kFloat32, {imm(1), imm(8), imm(9), imm(11)});
  const auto w = b.constant("w", Element::kFloat32, {imm(12), imm(8), imm(3), imm(3)});
  return *b.finish(
      {ops::leaky_relu(b, ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}}), slope)});
}

// Their polynomials' constants are read-only data.
tensor::Workload function(std::vector<UnaryKind> kinds) {
  ops::Builder b;
  ops::Buffer y = b.input("x", Element::kFloat32, {imm(61), imm(29)});
  for (const UnaryKind kind : kinds) y = ops::unary(b, kind, y);
  return *b.finish({y});
}

tensor::Workload softmax() {
  ops::Builder b;
  return *b.finish({ops::softmax(b, b.input("x", Element::kFloat32, {imm(13), imm(45)}), 1)});
}

// The last two are the first two again.
std::vector<tensor::Workload> workloads() {
  return {product(Element::kFloat32, 53),
          function({UnaryKind::kTanh, UnaryKind::kExp}),
          product(Element::kFloat32, 16),
          product(Element::kInt8, 53),
          product(Element::kBFloat16, 53),
          convolution(0.25),
          convolution(0.125),  // of the same shape, with another constant
          function({UnaryKind::kErf}),
          function({UnaryKind::kSin, UnaryKind::kCos, UnaryKind::kSigmoid}),
          softmax(),
          product(Element::kFloat32, 53),
          function({UnaryKind::kTanh, UnaryKind::kExp})};
}

struct LinkedKernel {
  std::string entry, object;
  proto::Manifest manifest;
  std::vector<test::Bytes> inputs;
  std::string alone;  // its output
};

class LinkedKernels : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (target_.arch != target::host_target().arch) GTEST_SKIP() << "code for another processor";
    absl::StatusOr<std::unique_ptr<BuildPool>> pool = BuildPool::create({});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }

  proto::BuildReply built(const proto::BuildRequest& request) {
    const absl::StatusOr<proto::BuildReply> reply = pool_->build(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->code(), 0) << reply->message();
    return *reply;
  }

  LinkedKernel compile(const tensor::Workload& workload, const std::string& entry) {
    proto::BuildRequest request;
    proto::BuildKernelRequest& wanted = *request.mutable_kernel();
    wanted.set_workload(tensor::canonical_text(workload));
    wanted.set_schedule(schedule::to_string(
        recipes::default_schedule({.workload = workload, .target = target_, .threads = kThreads})));
    wanted.set_target(target_.text());
    wanted.set_entry(entry);
    wanted.set_use(proto::KERNEL_USE_DEVICE);
    const proto::BuildReply alone = built(request);
    wanted.set_use(proto::KERNEL_USE_MODEL);
    const proto::BuildReply part = built(request);
    EXPECT_EQ(alone.code_digest(), part.code_digest());
    if (HasFailure()) return {};
    LinkedKernel kernel{
        .entry = entry, .object = part.artifact().blobs(0).content(), .manifest = part.artifact().manifest()};
    for (int i = 0; i + 1 < kernel.manifest.ports_size(); ++i)
      kernel.inputs.push_back(bytes_of(kernel.manifest.ports(i), static_cast<uint64_t>(i)));
    kernel.alone = run_alone(kernel, alone.artifact().blobs(0).content());
    return kernel;
  }

  // What stands for a port's packed values: which of them are which does not matter here.
  static test::Bytes bytes_of(const proto::Port& port, uint64_t seed) {
    const int element =
        port.stored_element() != proto::ELEMENT_TYPE_UNSPECIFIED ? port.stored_element() : port.element();
    const auto stored = static_cast<Element>(element - 1);  // ours have no value for none
    const auto count = static_cast<int64_t>(port.size_bytes()) / tensor::element_bytes(stored);
    return test::encode(stored, test::random_values(stored, count, seed, -9, 9));
  }

  static std::string run_alone(const LinkedKernel& kernel, const std::string& library) {
    auto loaded = support::LoadedKernel::load(library, kernel.entry);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (!loaded.ok()) return "";
    std::vector<std::unique_ptr<support::AlignedBytes>> buffers;
    std::vector<support::AlignedBytes*> pointers;
    for (const proto::Port& port : kernel.manifest.ports()) {
      buffers.push_back(std::make_unique<support::AlignedBytes>(port.size_bytes(), 0xFF));
      pointers.push_back(buffers.back().get());
    }
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      std::ranges::copy(kernel.inputs[i], buffers[i]->as<std::byte>().begin());
    const support::CompiledKernel compiled{*std::move(loaded), kernel.manifest.workspace_bytes(),
                                           kernel.manifest.workspace_per_thread_bytes()};
    EXPECT_EQ(support::call_kernel(compiled, pointers, {}, kThreads), TF_KERNEL_OK);
    return {reinterpret_cast<const char*>(buffers.back()->data()), buffers.back()->size()};
  }

  // A model that runs each kernel once on its own inputs, which are its weights, the last kernel first.
  void link(const std::vector<LinkedKernel>& kernels) {
    runtime::ModelDescription model;
    model.kernel_count = kernels.size();
    proto::BuildRequest request;
    proto::LinkModelRequest& wanted = *request.mutable_link();
    std::string weights;
    for (size_t k = kernels.size(); k-- > 0;) {
      const LinkedKernel& kernel = kernels[k];
      runtime::ModelStep step{.name = kernel.entry, .kernel = static_cast<uint32_t>(k)};
      for (const test::Bytes& input : kernel.inputs) {
        step.buffers.push_back({TF_SPACE_WEIGHTS, 0, weights.size(), input.size()});
        weights.append(reinterpret_cast<const char*>(input.data()), input.size());
        weights.resize((weights.size() + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT);
      }
      step.buffers.push_back(
          {TF_SPACE_OUTPUT, static_cast<uint32_t>(model.outputs.size()), 0, kernel.alone.size()});
      step.workspace_bytes = kernel.manifest.workspace_bytes();
      step.workspace_per_thread_bytes = kernel.manifest.workspace_per_thread_bytes();
      model.steps.push_back(step);
      model.outputs.push_back(
          {kernel.entry, TF_ELEMENT_UINT8, {static_cast<int64_t>(kernel.alone.size())}, kernel.alone.size()});
    }
    model.weights_bytes = weights.size();
    for (const LinkedKernel& kernel : kernels) {
      proto::LinkModelRequest::Kernel& linked = *wanted.add_kernels();
      linked.set_entry(kernel.entry);
      linked.set_object(kernel.object);
    }
    const absl::StatusOr<std::string> blob = runtime::encode_model(model);
    ASSERT_TRUE(blob.ok()) << blob.status();
    wanted.set_blob(*blob);
    wanted.set_weights_bytes(weights.size());
    wanted.set_runtime_archive(*read_file(TF_RUNTIME_MODEL_ARCHIVE));
    wanted.set_target(target_.text());
    wanted.set_prefix("model");
    const proto::LinkedModel model_library = built(request).model();
    ASSERT_TRUE(write_file(folder_.file("model.so"),
                           absl::StrCat(model_library.before(), weights, model_library.after()))
                    .ok());
  }

  const target::Target target_ = *target::parse_target(GetParam());
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<BuildPool> pool_;
};

TEST_P(LinkedKernels, GiveBitForBitWhatEachGivesAlone) {
  std::vector<LinkedKernel> kernels;
  int with_constants = 0;
  for (const tensor::Workload& workload : workloads()) {
    kernels.push_back(compile(workload, absl::StrCat("k", kernels.size())));
    ASSERT_FALSE(HasFailure()) << workload.label;
    with_constants += kernels.back().object.find(".rodata") != std::string::npos;
  }
  EXPECT_GE(with_constants, 3) << "this is about their constants, too";
  ASSERT_NO_FATAL_FAILURE(link(kernels));
  ASSERT_FALSE(HasFailure());
  auto model = LoadedModel::open(folder_.path(), kThreads);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<std::vector<graph::HostTensor>> outputs = (*model)->run({});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const LinkedKernel& kernel = kernels[kernels.size() - 1 - i];
    EXPECT_TRUE((*outputs)[i].data->bytes() == kernel.alone) << kernel.entry;
  }
}

TEST_P(LinkedKernels, OfTheSameNameAreRefused) {
  std::vector<LinkedKernel> kernels = {compile(softmax(), "twice"),
                                       compile(function({UnaryKind::kErf}), "twice")};
  ASSERT_FALSE(HasFailure());
  proto::BuildRequest request;
  proto::LinkModelRequest& wanted = *request.mutable_link();
  for (size_t k = 0; k < kernels.size(); ++k) {
    proto::LinkModelRequest::Kernel& linked = *wanted.add_kernels();
    linked.set_entry(kernels[k].entry);
    linked.set_object(kernels[k].object);
  }
  wanted.set_blob("none");
  wanted.set_runtime_archive(*read_file(TF_RUNTIME_MODEL_ARCHIVE));
  wanted.set_target(target_.text());
  wanted.set_prefix("model");
  const absl::StatusOr<proto::BuildReply> reply = pool_->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), static_cast<int>(absl::StatusCode::kInternal));
  EXPECT_THAT(reply->message(), ::testing::HasSubstr("duplicate symbol: twice"));
}

INSTANTIATE_TEST_SUITE_P(Targets, LinkedKernels, ::testing::Values("host", "x86_64:cpu=nehalem"),
                         [](const auto& each) { return each.index == 0 ? "host" : "nehalem"; });

}  // namespace
}  // namespace tf::driver
