// Products of gathered matrices on GPUs, of convolutions and in parts, lowered and interpreted, against the workload's
// definition.

#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/ops/window.h"
#include "compiler/recipes/gpu/product.h"
#include "compiler/recipes/gpu/tensor_matrices.h"
#include "compiler/recipes/recipes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using tensor::Element;

struct Conv {
  const char* name;
  int64_t batch, in, height, width, out, kernel;
  int64_t stride = 1, dilation = 1, pad = 0;
  bool channels_last = false;
  Element element = Element::kFloat16;
};

const tensor::Layout kChannelsLast{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};

// The sums as they are, not rounded to the factors' type, and then a residual and relu.
tensor::KernelSpec conv_kernel(const Conv& c, const char* arch = "sm_80") {
  ops::Builder b;
  const auto extents = [](std::initializer_list<int64_t> values) {
    std::vector<tensor::Expr> all;
    for (const int64_t value : values) all.push_back(tensor::imm(value));
    return all;
  };
  const tensor::Type sum{tensor::is_float(c.element) ? Element::kFloat32 : Element::kInt32, 1};
  const tensor::Buffer x = b.input("x", c.element, extents({c.batch, c.in, c.height, c.width})),
                       w = b.constant("w", c.element, extents({c.out, c.in, c.kernel, c.kernel}));
  const std::vector<int64_t> pads = {0, 0, c.pad, c.pad};
  const tensor::Buffer padded = ops::surround(b, x, pads, pads, 0);
  const auto slides = [&](int64_t extent) {
    return (extent + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  };
  const std::vector<tensor::Expr> shape = extents({c.batch, c.out, slides(c.height), slides(c.width)});
  tensor::Buffer y = b.reduce(
      "conv", sum.element, shape, extents({c.in, c.kernel, c.kernel}), tensor::Combiner::kSum,
      [&](ops::Indices i, ops::Indices r) {
        return tensor::cast(sum, tensor::load(padded, {i[0], r[0], i[2] * c.stride + r[1] * c.dilation,
                                                       i[3] * c.stride + r[2] * c.dilation})) *
               tensor::cast(sum, tensor::load(w, {i[1], r[0], r[1], r[2]}));
      });
  y = ops::relu(b, ops::binary(b, ops::BinaryKind::kAdd, y, b.input("residual", sum.element, shape)));
  tensor::KernelSpec kernel{.workload = *b.finish({y}),
                            .target = *target::parse_target(absl::StrCat("cuda:arch=", arch))};
  if (c.channels_last) kernel.ports = {{kChannelsLast, kChannelsLast}, {kChannelsLast}};
  return kernel;
}

constexpr Conv kConvolutions[] = {
    {"3x3", 1, 8, 9, 7, 12, 3, 1, 1, 1},
    {"3x3, channels last", 1, 8, 9, 7, 16, 3, 1, 1, 1, true},
    {"strided", 2, 5, 11, 10, 9, 3, 2, 1, 1},
    {"strided, channels last", 2, 16, 11, 10, 9, 3, 2, 1, 1, true},
    {"dilated", 1, 6, 9, 8, 10, 3, 1, 2, 2},
    {"1x1", 2, 24, 4, 4, 17, 1},
    {"1x1, channels last", 2, 24, 5, 3, 16, 1, 1, 1, 0, true},
    {"7x7", 1, 3, 13, 11, 8, 7, 2, 1, 3},
    {"bytes", 1, 8, 6, 5, 9, 3, 1, 1, 1, false, Element::kInt8},
    {"bytes, channels last", 1, 16, 6, 5, 9, 3, 1, 1, 1, true, Element::kInt8},
    {"bf16", 1, 7, 5, 5, 9, 3, 1, 1, 1, false, Element::kBFloat16},
};

void check_sketch(const tensor::KernelSpec& kernel, const recipes::Sketch& sketch, const std::string& name) {
  const schedule::Schedule schedule = recipes::instantiate(sketch, sketch.default_point());
  const auto state = schedule::apply(kernel.workload, schedule);
  ASSERT_TRUE(state.ok()) << name << ": " << state.status() << to_string(schedule);
  check_schedule(kernel.workload, schedule, kernel.ports, 3, absl::StrCat(name, ", ", sketch.family),
                 passes::gpu_pipeline());
}

void check_kernel(const tensor::KernelSpec& kernel, const recipes::TensorTile& tile, int64_t part,
                  const std::string& name) {
  const auto sketches = recipes::tensor_matrices_on_gpu(kernel, tile, part);
  ASSERT_EQ(sketches.size(), 1u) << name;
  check_sketch(kernel, sketches[0], name);
}

TEST(GpuMatrices, AreConvolutionsByMatrixInstructions) {
  for (const Conv& c : kConvolutions) {
    check_kernel(conv_kernel(c), {1, 2, 1, 1, 1, 2}, 0, c.name);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// What is read and made may lie otherwise; threads copy vectors of both.
TEST(GpuMatrices, AreConvolutionsBetweenLayouts) {
  const Conv c{"1x1", 2, 24, 4, 4, 72, 1};
  for (const auto& [in, out] :
       {std::pair(tensor::Layout{}, kChannelsLast), {kChannelsLast, tensor::Layout{}}})
    for (const char* arch : {"sm_80", "sm_90a"}) {
      tensor::KernelSpec kernel = conv_kernel(c, arch);
      kernel.ports = {{in, out}, {out}};
      for (const recipes::Sketch& sketch : recipes::sketches_of(kernel)) {
        if (!sketch.family.starts_with("tensor convolution")) continue;
        const std::string text = to_string(recipes::instantiate(sketch, sketch.default_point()));
        for (const char* matrix : {"a", "b"})
          EXPECT_THAT(text,
                      ::testing::ContainsRegex(absl::StrCat("annotate t0[.]", matrix, "[^\n]* vectorize")));
        check_sketch(kernel, sketch, c.name);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
}

// Only where threads gather vectors. Tiles beyond the images, the terms and the channels.
TEST(GpuMatrices, AreConvolutionsByInstructionsOfFourWarps) {
  for (Conv c : {Conv{"3x3", 1, 16, 9, 7, 72, 3, 1, 1, 1},
                 {"strided", 2, 64, 11, 10, 48, 3, 2, 1, 1},
                 {"dilated", 1, 24, 9, 7, 64, 3, 1, 2, 2},
                 {"1x1", 2, 40, 5, 3, 96, 1},
                 {"bf16", 1, 8, 5, 5, 64, 3, 1, 1, 1, true, Element::kBFloat16},
                 {"bytes", 1, 16, 6, 5, 64, 3, 1, 1, 1, true, Element::kInt8}}) {
    for (const bool last : {true, false}) {
      c.channels_last = last;
      const tensor::KernelSpec kernel = conv_kernel(c, "sm_90a");
      int checked = 0;
      for (const recipes::Sketch& sketch : recipes::more_tensor_matrices_on_gpu(kernel)) {
        if (sketch.family.find("wgmma") == std::string::npos) continue;
        check_sketch(kernel, sketch, c.name);
        if (::testing::Test::HasFatalFailure()) return;
        ++checked;
      }
      EXPECT_EQ(checked > 0, last) << c.name;
    }
  }
}

// A large batch is worth them, one image is not.
TEST(GpuMatrices, AreByFourWarpsByDefaultWhereTheyFillAGpu) {
  for (const auto& [batch, family] :
       {std::pair(1, "tensor convolution"), {32, "tensor convolution, wgmma n64"}}) {
    const tensor::KernelSpec kernel = conv_kernel({"", batch, 64, 56, 56, 64, 3, 1, 1, 1, true}, "sm_90a");
    EXPECT_EQ(recipes::sketches_of(kernel).at(0).family, family);
  }
}

// Fewer terms than parts, parts that are no whole tiles, a last part that is shorter.
TEST(GpuMatrices, AreProductsInParts) {
  for (const auto& [m, n, k, part] : {std::array<int64_t, 4>{20, 17, 95, 32},
                                      {9, 33, 70, 24},
                                      {16, 8, 64, 16},
                                      {5, 6, 3, 1},
                                      {40, 24, 200, 64}}) {
    for (const bool turned : {false, true}) {
      ops::Builder b;
      const tensor::Buffer x = f32_input(b, {m, k});
      const tensor::Buffer w = turned ? f32_input(b, {n, k}) : f32_constant(b, {k, n});
      const tensor::Buffer y = ops::matmul(b, ops::relu(b, x), w, {.transpose_b = turned});
      tensor::KernelSpec kernel{.workload = *b.finish({ops::bias_add(b, y, f32_constant(b, {n}), 1)}),
                                .target = *target::parse_target("cuda:arch=sm_80"),
                                .allowed = {"bf16"}};
      const std::string name = absl::StrCat(m, "x", n, "x", k, " in parts of ", part);
      std::vector<recipes::Sketch> sketches =
          recipes::matrix_product_on_gpu(kernel, {4, 8, 2, 2, 8, 2, 1}, part);
      for (const recipes::Sketch& each : recipes::tensor_matrices_on_gpu(kernel, {1, 2, 1, 1, 1, 2}, part))
        sketches.push_back(each);
      ASSERT_EQ(sketches.size(), 2u) << name;
      for (const recipes::Sketch& sketch : sketches) check_sketch(kernel, sketch, name);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GpuMatrices, AreConvolutionsWithoutMatrixInstructions) {
  for (Conv c : kConvolutions) {
    c.element = Element::kFloat32;
    for (const int64_t part : {0, 24}) {
      const tensor::KernelSpec kernel = conv_kernel(c);
      const auto sketches = recipes::matrix_product_on_gpu(kernel, {4, 8, 2, 2, 8, 2, 1}, part);
      ASSERT_EQ(sketches.size(), 1u) << c.name;
      check_sketch(kernel, sketches[0], c.name);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Images whose number is known at run time: by the schedule of one number.
TEST(GpuMatrices, AreOfAnyNumberOfImages) {
  for (const int64_t known : {1, 2}) {
    ops::Builder b;
    const tensor::Var n = tensor::var("n");
    b.dimension({n, 1, 4});
    const tensor::Buffer x =
        b.input("x", Element::kFloat32, {n, tensor::imm(8), tensor::imm(6), tensor::imm(5)});
    const tensor::Buffer y =
        ops::conv(b, x, f32_constant(b, {9, 8, 3, 3}), {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const tensor::Workload workload = *b.finish({ops::relu(b, y)});
    const tensor::KernelSpec kernel{.workload = tensor::bind(workload, {{"n", known}}).value(),
                                    .target = *target::parse_target("cuda:arch=sm_86"),
                                    .allowed = {"bf16"}};
    for (const int64_t part : {0, 32}) {
      std::vector<recipes::Sketch> sketches = recipes::tensor_matrices_on_gpu(kernel, {1, 1, 1, 2, 1}, part);
      for (recipes::Sketch& each : recipes::matrix_product_on_gpu(kernel, {4, 8, 2, 2, 8, 2, 1}, part))
        sketches.push_back(std::move(each));
      ASSERT_EQ(sketches.size(), 2u);
      for (const recipes::Sketch& sketch : sketches) {
        const schedule::Schedule schedule = recipes::instantiate(sketch, sketch.default_point());
        const auto lowered =
            passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline(), .verify_each = true});
        ASSERT_TRUE(lowered.ok()) << sketch.family << lowered.status();
        for (const int64_t size : {1, 2, 3})
          if (!HasFailure()) check_run(workload, *lowered, schedule, {{"n", size}}, 5);
      }
    }
  }
}

// As networks have them: of f32, without numerics that cost accuracy, in any layout.
TEST(GpuMatrices, AreTakenWhereBlocksAreFew) {
  const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
  for (const bool in_blocks : {false, true}) {
    ops::Builder b;
    tensor::Buffer y = ops::conv(b, f32_input(b, {1, 256, 14, 14}), f32_constant(b, {256, 256, 3, 3}),
                                 {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    y = ops::relu(b, ops::bias_add(b, y, f32_constant(b, {256}), 1));
    tensor::KernelSpec kernel{.workload = *b.finish({y}), .target = *target::parse_target("cuda:arch=sm_80")};
    if (in_blocks) kernel.ports = {{blocked}, {blocked}};
    EXPECT_EQ(recipes::sketches_of(kernel).at(0).family, "convolution as product, in parts");
  }
}

// All that their open sizes can be: the steps are legal before any is chosen.
TEST(GpuMatrices, AreLegalWithOpenSizes) {
  for (const Conv& c : {Conv{"", 1, 256, 14, 14, 256, 3, 1, 1, 1},
                        Conv{"", 1, 256, 14, 14, 256, 3, 1, 1, 1, true}, Conv{"", 1, 1024, 7, 7, 512, 1}}) {
    const tensor::KernelSpec kernel = conv_kernel(c);
    const auto sketches = recipes::sketches_of(kernel);
    ASSERT_GE(sketches.size(), 4u);
    EXPECT_EQ(sketches[0].family, "tensor convolution, in parts");
    for (const recipes::Sketch& sketch : sketches) {
      schedule::State state(*sketch.workload, recipes::open_sizes(sketch));
      for (const schedule::Step& step : sketch.steps.steps) {
        const auto error = state.apply(step);
        ASSERT_FALSE(error) << sketch.family << ", " << to_string(step) << ": "
                            << schedule::explain(*error, step, state);
      }
    }
  }
}

TEST(GpuMatrices, AreAddedUpInParts) {
  for (const int64_t part : {16, 40, 64}) {
    check_kernel(conv_kernel(kConvolutions[0]), {1, 1, 1, 2, 1, 2}, part, absl::StrCat("parts of ", part));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Pixels of an image that no block of columns divides are still neighbours in memory.
TEST(GpuMatrices, CopyPixelsOfPlainImagesInVectors) {
  for (const auto& [side, elements] : {std::pair(12, 8), std::pair(14, 4), std::pair(8, 8)}) {
    const tensor::KernelSpec kernel = conv_kernel({"1x1", 1, 24, side, side, 24, 1});
    const recipes::Sketch sketch = recipes::tensor_matrices_on_gpu(kernel).at(0);
    const schedule::Schedule steps = recipes::instantiate(sketch, sketch.default_point());
    const auto lowered = passes::lower(kernel.workload, steps, {}, {.pipeline = passes::gpu_pipeline()});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    class Copies final : public ir::Visitor {
     public:
      std::set<int64_t> elements;

     protected:
      bool enter(const ir::Stmt& stmt) override {
        const auto* copy = ir::as<ir::AsyncCopy>(stmt);
        if (copy && copy->source->name == "p0") elements.insert(copy->elements);
        return true;
      }
    };
    Copies copies;
    copies(lowered->function.body);
    EXPECT_EQ(copies.elements, std::set<int64_t>{elements}) << side << "\n"
                                                            << ir::to_string(lowered->function);
    check_sketch(kernel, sketch, absl::StrCat(side, " by ", side));
  }
}

}  // namespace
}  // namespace tf::test
