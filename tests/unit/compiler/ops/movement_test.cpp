#include "compiler/ops/movement.h"

#include "tests/unit/compiler/ops/host_tensor.h"

namespace tf::ops {
namespace {

using testing::HasSubstr;

// 0, 1, 2, …: every element tells where it came from.
HostTensor counting(const Shape& shape) {
  double next = 0;
  return generate(shape, [&](const Shape&) { return next++; });
}

TEST(Transpose, MovesAxes) {
  const HostTensor x = counting({2, 3, 4});
  Builder b;
  const Buffer input = input_like(b, "x", x);
  expect_near(run(b, transpose(b, input, {2, 0, 1}), {x}), generate({4, 2, 3}, [&](const Shape& i) {
                return x.at({i[1], i[2], i[0]});
              }));
  Builder wrong;
  const Buffer y = input_like(wrong, "x", x);
  EXPECT_THAT(error_of(wrong, transpose(wrong, y, {0, 0, 1})),
              HasSubstr("transpose: a permutation of the axes"));
}

TEST(Reshape, KeepsRowMajorOrderBetweenAnyShapes) {
  const std::vector<Shape> shapes = {{24},       {2, 12},   {4, 6},    {2, 3, 4},
                                     {1, 24, 1}, {4, 3, 2}, {3, 1, 8}, {1, 2, 2, 1, 6}};
  for (const Shape& from : shapes)
    for (const Shape& to : shapes) {
      const HostTensor x = counting(from);
      Builder b;
      const Buffer input = input_like(b, "x", x);
      expect_near(run(b, reshape(b, input, extents_of(to)), {x}), {to, x.values});
    }
}

TEST(Reshape, OfNothingAndOfAScalarWork) {
  Builder b;
  const Buffer empty = b.input("x", Element::kFloat32, extents_of({0, 3}));
  expect_near(run(b, reshape(b, empty, extents_of({3, 0, 2})), {{{0, 3}, {}}}), {{3, 0, 2}, {}});
  Builder scalar;
  const Buffer one = scalar.input("x", Element::kFloat32, {});
  expect_near(run(scalar, reshape(scalar, one, extents_of({1, 1})), {{{}, {5}}}), {{1, 1}, {5}});
}

TEST(Reshape, AxesThatStayWholeAreNotDivided) {
  Builder b;
  const tensor::Var n = tensor::var("batch");
  b.dimension({n, 1, 64});
  const Buffer x = b.input("x", Element::kFloat32, {n, tensor::imm(8), tensor::imm(4), tensor::imm(4)});
  const auto workload = b.finish({reshape(b, x, {n, tensor::imm(128)})});
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(tensor::canonical_text(*workload), HasSubstr("= p0[i0, i1 // 16, i1 // 4 % 4, i1 % 4]"));
  Builder merged;
  merged.dimension({n, 1, 64});
  const Buffer y = merged.input("x", Element::kFloat32, {n, tensor::imm(8), tensor::imm(4)});
  const auto rows = merged.finish({reshape(merged, y, {n * 8, tensor::imm(4)})});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(tensor::canonical_text(*rows), HasSubstr("= p0[i0 // 8, i0 % 8, i1]"));
}

TEST(Reshape, AnotherNumberOfElementsIsNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({2, 3}));
  EXPECT_THAT(error_of(b, reshape(b, x, extents_of({7}))),
              HasSubstr("reshape: f32[2, 3] does not have as many elements as f32[7]"));
}

TEST(Expand, RepeatsAlongAxesOfExtentOne) {
  const HostTensor x = counting({3, 1});
  Builder b;
  const Buffer input = input_like(b, "x", x);
  expect_near(run(b, expand(b, input, extents_of({2, 1, 4})), {x}), generate({2, 3, 4}, [&](const Shape& i) {
                return x.at({i[1], 0});
              }));
}

TEST(Concat, JoinsAlongEveryAxis) {
  for (size_t axis : {0, 1, 2}) {
    Shape shape = {2, 3, 2};
    std::vector<HostTensor> parts;
    Builder b;
    std::vector<Buffer> inputs;
    for (int64_t extent : {2, 1, 0, 3}) {
      shape[axis] = extent;
      parts.push_back(random_tensor(shape, static_cast<uint32_t>(extent)));
      inputs.push_back(input_like(b, "x", parts.back()));
    }
    shape[axis] = 6;
    const HostTensor expected = generate(shape, [&](const Shape& i) {
      Shape place = i;
      for (const HostTensor& part : parts) {
        if (place[axis] < part.shape[axis]) return part.at(place);
        place[axis] -= part.shape[axis];
      }
      return 0.0;
    });
    expect_near(run(b, concat(b, inputs, static_cast<int>(axis)), parts), expected);
  }
}

TEST(Concat, JoinsHundredsOfOperandsWithoutDeepNesting) {
  std::vector<HostTensor> parts;
  std::vector<Buffer> inputs;
  Builder b;
  for (int i = 0; i < 900; ++i) {
    parts.push_back({{1}, {static_cast<double>(i)}});
    inputs.push_back(input_like(b, "x", parts.back()));
  }
  expect_near(run(b, concat(b, inputs, 0), parts), counting({900}));
}

TEST(Concat, OperandsThatDoNotFitAreNamed) {
  Builder b;
  const Buffer x = b.input("x", Element::kFloat32, extents_of({2, 3})),
               y = b.input("y", Element::kFloat32, extents_of({3, 3}));
  EXPECT_THAT(error_of(b, concat(b, {x, y}, 1)), HasSubstr("concat: cannot join f32[2, 3] and f32[3, 3]"));
  Builder none;
  EXPECT_THAT(error_of(none, concat(none, {}, 0)), HasSubstr("concat: there is nothing to join"));
}

TEST(Slice, TakesStepsOfEitherSign) {
  const HostTensor x = counting({7, 5, 3});
  Builder b;
  const Buffer input = input_like(b, "x", x);
  const SliceOptions options{{0, 2}, {6, 1}, {3, 2}, {-3, 1}};
  expect_near(run(b, slice(b, input, options), {x}), generate({3, 5, 2}, [&](const Shape& i) {
                return x.at({6 - 3 * i[0], i[1], i[2] + 1});
              }));
}

TEST(Slice, WhatReachesOutsideIsNamed) {
  for (const SliceOptions& options :
       {SliceOptions{{0}, {0}, {4}, {1}}, SliceOptions{{0}, {-1}, {1}, {1}}, SliceOptions{{1}, {0}, {1}, {1}},
        SliceOptions{{0}, {0}, {2}, {0}}, SliceOptions{{0}, {2}, {2}, {INT64_MAX}},
        SliceOptions{{0}, {}, {}, {}}}) {
    Builder b;
    const Buffer x = b.input("x", Element::kFloat32, extents_of({3}));
    EXPECT_THAT(error_of(b, slice(b, x, options)), HasSubstr("slice: "));
  }
}

TEST(Pad, SurroundsWithTheValue) {
  const HostTensor x = counting({2, 3});
  Builder b;
  const Buffer input = input_like(b, "x", x);
  expect_near(run(b, pad(b, input, {1, 0}, {0, 2}, 9), {x}), generate({3, 5}, [&](const Shape& i) {
                return x.at({i[0] - 1, i[1]}, 9);
              }));
  Builder nothing;
  const Buffer same = input_like(nothing, "x", x);
  expect_near(run(nothing, pad(nothing, same, {0, 0}, {0, 0}, 9), {x}), x);
  Builder negative;
  const Buffer y = input_like(negative, "x", x);
  EXPECT_THAT(error_of(negative, pad(negative, y, {-1, 0}, {0, 0}, 0)),
              HasSubstr("pad: one padding of at least 0"));
}

TEST(Gather, PicksAlongAnAxisAndNeverReadsOutside) {
  const HostTensor x = counting({2, 4, 3}), indices{{2, 3}, {0, 3, -1, -4, 99, -99}};
  const int64_t picked[] = {0, 3, 3, 0, 3, 0};
  Builder b;
  const Buffer input = input_like(b, "x", x), places = input_like(b, "indices", indices, Element::kInt64);
  expect_near(run(b, gather(b, input, places, 1), {x, indices}), generate({2, 2, 3, 3}, [&](const Shape& i) {
                return x.at({i[0], picked[i[1] * 3 + i[2]], i[3]});
              }));
}

TEST(Gather, AScalarIndexDropsTheAxis) {
  const HostTensor x = counting({4, 3}), index{{}, {2}};
  Builder b;
  const Buffer input = input_like(b, "x", x), place = input_like(b, "index", index, Element::kInt32);
  expect_near(run(b, gather(b, input, place, 0), {x, index}), {{3}, {6, 7, 8}});
}

TEST(DepthToSpace, PutsPhasesOfChannelsBetweenElements) {
  const HostTensor x = counting({1, 12, 2, 3});
  for (const int64_t groups : {1, 3}) {
    Builder b;
    const Buffer input = input_like(b, "x", x);
    const int64_t blocks_x = groups == 1 ? 3 : 2, each = 12 / (groups * 2 * blocks_x),
                  channels = groups * each;
    // The first row and the first column are left out, and one column beyond the last is 0.
    const HostTensor want = generate({1, channels, 3, blocks_x * 3}, [&](const Shape& i) {
      const int64_t y = i[2] + 1, z = i[3] + 1, phase = (y % 2) * blocks_x + z % blocks_x;
      const int64_t channel = (i[1] / each * 2 * blocks_x + phase) * each + i[1] % each;
      return x.at({0, channel, y / 2, z / blocks_x}, 0);
    });
    expect_near(run(b, depth_to_space(b, input, {groups, {2, blocks_x}, {1, 1}, {3, blocks_x * 3}}), {x}),
                want);
  }
}

}  // namespace
}  // namespace tf::ops
