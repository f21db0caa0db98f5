#include "compiler/ops/convolution.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

struct Case {
  Shape x, w;
  ConvOptions options;
};

std::string name_of(const Case& c) {
  const auto sizes = [](const char* what, const Shape& each) {
    return each.empty() ? "" : absl::StrCat(what, absl::StrJoin(each, "x"));
  };
  const ConvOptions& o = c.options;
  return absl::StrCat(absl::StrJoin(c.x, "x"), sizes("_by_", c.w), sizes("_strides_", o.strides),
                      sizes("_dilations_", o.dilations), sizes("_pads_", o.pads_begin),
                      sizes("_", o.pads_end), o.groups == 1 ? "" : absl::StrCat("_groups_", o.groups));
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c);
}

std::vector<int64_t> filled(std::vector<int64_t> entries, size_t count, int64_t value) {
  if (entries.empty()) entries.assign(count, value);
  return entries;
}

// The definition, by loops over one to three spatial axes.
HostTensor reference(const HostTensor& x, const HostTensor& w, const ConvOptions& o) {
  const size_t spatial = x.shape.size() - 2;
  const auto strides = filled(o.strides, spatial, 1), dilations = filled(o.dilations, spatial, 1);
  const auto begin = filled(o.pads_begin, spatial, 0), end = filled(o.pads_end, spatial, 0);
  Shape shape = {x.shape[0], w.shape[0]};
  for (size_t d = 0; d < spatial; ++d)
    shape.push_back(
        (x.shape[d + 2] + begin[d] + end[d] - dilations[d] * (w.shape[d + 2] - 1) - 1) / strides[d] + 1);
  const int64_t out_per_group = w.shape[0] / o.groups;
  return generate(shape, [&](const Shape& i) {
    double sum = 0;
    Shape kernel(w.shape.begin() + 1, w.shape.end());
    generate(kernel, [&](const Shape& k) {
      Shape from = {i[0], i[1] / out_per_group * w.shape[1] + k[0]}, weight = {i[1], k[0]};
      for (size_t d = 0; d < spatial; ++d) {
        from.push_back(i[d + 2] * strides[d] + k[d + 1] * dilations[d] - begin[d]);
        weight.push_back(k[d + 1]);
      }
      sum += x.at(from, 0) * w.at(weight);
      return 0.0;
    });
    return sum;
  });
}

class ConvAgainstLoops : public testing::TestWithParam<Case> {};

TEST_P(ConvAgainstLoops, Agrees) {
  const Case& c = GetParam();
  const HostTensor x = random_tensor(c.x, 1), w = random_tensor(c.w, 2);
  Builder b;
  const Buffer xb = input_like(b, "x", x), wb = b.constant("w", Element::kFloat32, extents_of(c.w));
  expect_near(run(b, conv(b, xb, wb, c.options), {x, w}), reference(x, w, c.options));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvAgainstLoops,
    testing::Values(
        Case{{1, 3, 7, 9}, {4, 3, 3, 3}, {}},                                          // no padding
        Case{{2, 3, 7, 5}, {4, 3, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}}},  // same
        Case{{1, 2, 8, 8}, {3, 2, 3, 2}, {.strides = {2, 3}, .pads_begin = {0, 1}, .pads_end = {2, 0}}},
        Case{{1, 2, 11, 9}, {3, 2, 3, 3}, {.dilations = {2, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}}},
        Case{{1, 6, 5, 5}, {4, 3, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2}},
        Case{{1, 5, 6, 6},
             {5, 1, 3, 3},
             {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 5}},
        Case{{1, 3, 6, 6}, {6, 1, 3, 3}, {.groups = 3}},                               // multiplier 2
        Case{{1, 4, 1, 1}, {2, 4, 1, 1}, {}},                                          // size 1
        Case{{1, 1, 3, 3}, {1, 1, 3, 3}, {}},                                          // one window
        Case{{0, 2, 4, 4}, {3, 2, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}}},  // nothing
        Case{{2, 3, 10}, {4, 3, 4}, {.strides = {3}, .pads_begin = {2}, .pads_end = {1}}},
        Case{{1, 2, 4, 5, 3}, {2, 2, 2, 3, 2}, {.pads_begin = {1, 0, 0}, .pads_end = {0, 1, 1}}},
        // a stride that leaves the end unread
        Case{{1, 1, 8, 8}, {1, 1, 1, 1}, {.strides = {3, 5}}}),
    [](const auto& each) { return name_of(each.param); });

Workload workload_of(const Shape& x, const Shape& w, const ConvOptions& options,
                     Element element = Element::kFloat32) {
  Builder b;
  const Buffer xb = b.input("x", element, extents_of(x)), wb = b.constant("w", element, extents_of(w));
  auto workload = b.finish({conv(b, xb, wb, options)});
  EXPECT_TRUE(workload.ok()) << workload.status();
  return *workload;
}

TEST(Conv, PaddingIsAStageOfItsOwnOnlyWhereItIsNeeded) {
  const Workload plain = workload_of({1, 3, 8, 8}, {4, 3, 1, 1}, {});
  EXPECT_EQ(plain.stages.size(), 1u);
  EXPECT_EQ(plain.label, "conv2d");
  const Workload padded = workload_of({1, 3, 8, 8}, {4, 3, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  ASSERT_EQ(padded.stages.size(), 2u);
  EXPECT_EQ(padded.stages[0].output->name, "pad");
  EXPECT_EQ(padded.stages[1].reduce_axes.size(), 3u);
}

TEST(Conv, DepthwiseReadsItsOwnChannelAndReducesOverTheKernelOnly) {
  const Workload w = workload_of({1, 8, 6, 6}, {8, 1, 3, 3}, {.groups = 8});
  EXPECT_EQ(w.label, "depthwise_conv2d");
  EXPECT_THAT(tensor::canonical_text(w),
              HasSubstr("reduce sum[r0 < 3, r1 < 3] p0[i0, i1, i2 + r0, i3 + r1] * p1[i1, 0, r0, r1]"));
}

TEST(Conv, FlopsAreTwoAMultiplyAdd) {
  const Workload w = workload_of({1, 64, 56, 56}, {64, 64, 3, 3}, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  EXPECT_EQ(tensor::count_flops(w), 2.0 * 64 * 56 * 56 * 64 * 9);
  EXPECT_EQ(tensor::count_bytes(w), 4.0 * (64 * 56 * 56 * 2 + 64 * 64 * 9));
}

TEST(Conv, NarrowTypesAccumulateInAWiderOne) {
  const Workload half = workload_of({1, 2, 4, 4}, {3, 2, 3, 3}, {}, Element::kFloat16);
  EXPECT_EQ(half.stages[0].output->element, Element::kFloat32);
  EXPECT_EQ(half.outputs[0]->element, Element::kFloat16);
  const Workload byte = workload_of({1, 2, 4, 4}, {3, 2, 3, 3}, {}, Element::kInt8);
  EXPECT_EQ(byte.outputs[0]->element, Element::kInt32);
}

TEST(Conv, ABatchThatIsANamedDimensionIsBoundLater) {
  Builder b;
  const tensor::Var n = tensor::var("batch"), unused = tensor::var("unused");
  b.dimension({n, 1, 8});
  b.dimension({unused, 1, 8});
  const Buffer x = b.input("x", Element::kFloat32, {n, tensor::imm(2), n * 2 + 1, tensor::imm(5)});
  const Buffer w = b.constant("w", Element::kFloat32, extents_of({3, 2, 3, 3}));
  const auto workload =
      b.finish({conv(b, x, w, {.strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}})});
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_EQ(workload->dims.size(), 1u);  // what nothing uses is left out
  for (int64_t batch : {1, 3}) {
    const auto bound = tensor::bind(*workload, {{"batch", batch}});
    ASSERT_TRUE(bound.ok()) << bound.status();
    const HostTensor xs = random_tensor({batch, 2, 2 * batch + 1, 5}, 3), ws = random_tensor({3, 2, 3, 3}, 4);
    const HostTensor expected =
        reference(xs, ws, {.strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    const auto outputs = tensor::evaluate(*bound, {xs.values, ws.values});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    expect_near({expected.shape, (*outputs)[0]}, expected);
    EXPECT_EQ(tensor::element_count(bound->outputs[0]), count_of(expected.shape));
  }
}

TEST(Conv, OperandsThatDoNotFitAreNamed) {
  const auto error = [](const Shape& x, const Shape& w, const ConvOptions& options) {
    Builder b;
    const Buffer xb = b.input("x", Element::kFloat32, extents_of(x)),
                 wb = b.constant("w", Element::kFloat32, extents_of(w));
    return error_of(b, conv(b, conv(b, xb, wb, options), wb, {}));
  };
  EXPECT_THAT(error({1, 3, 8, 8}, {4, 2, 3, 3}, {}),
              HasSubstr("conv: weights f32[4, 2, 3, 3] do not fit input f32[1, 3, 8, 8] in 1 groups"));
  EXPECT_THAT(error({1, 3, 2, 2}, {4, 3, 3, 3}, {}), HasSubstr("a window of 3 does not fit spatial axis 0"));
  EXPECT_THAT(error({1, 3, 8, 8}, {4, 3, 3, 3}, {.strides = {0, 1}}),
              HasSubstr("strides has an entry 0; at least 1"));
  EXPECT_THAT(error({1, 3, 8, 8}, {4, 3, 3, 3}, {.strides = {1}}),
              HasSubstr("strides has 1 entries; one for each of 2"));
  EXPECT_THAT(error({1, 3, 8, 8}, {4, 3, 3, 3}, {.pads_begin = {-1, 0}}),
              HasSubstr("begin padding has an entry -1"));
  EXPECT_THAT(error({1, 3, 8, 8}, {4, 3, 3}, {}), HasSubstr("conv: the input is f32[1, 3, 8, 8]"));
  EXPECT_THAT(error({1, 3}, {4, 3}, {}), HasSubstr("conv: the input is f32[1, 3]"));
}

}  // namespace
}  // namespace tf::ops
