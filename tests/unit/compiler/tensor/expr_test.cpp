#include "compiler/tensor/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/tensor/text.h"
#include "tests/unit/compiler/tensor/f32.h"

namespace tf::tensor {
namespace {

TEST(Expr, BuildingFoldsIndexConstants) {
  EXPECT_EQ(as_int(floor_div(imm(-7), 2)), -4);
  EXPECT_EQ(as_int(floor_mod(imm(-1), 4)), 3);
  EXPECT_EQ(as_int(floor_mod(imm(5), -3)), -1);
  EXPECT_EQ(as_int(ceil_div(imm(7), imm(2))), 4);
  EXPECT_EQ(as_int(max(imm(3), imm(5)) - 1), 4);
  EXPECT_EQ(as_int(imm(3) < imm(5)), 1);
}

TEST(Expr, IntegerConstantsEndWhereTheirTypeDoes) {
  const Type i64{Element::kInt64, 1};
  EXPECT_EQ(as_int(imm(i64, 0x1p63)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(as_int(imm(i64, -INFINITY)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(as_int(imm(i64, std::nan(""))), 0);
}

TEST(Expr, BuildingDropsNeutralElements) {
  const Expr x = var("x");
  EXPECT_TRUE((x + 0).same_as(x));
  EXPECT_TRUE((imm(1) * x).same_as(x));
  EXPECT_EQ(as_int(x * 0), 0);
  EXPECT_TRUE(floor_div(x, 1).same_as(x));
  EXPECT_EQ(as_int(floor_mod(x, 1)), 0);
  const Expr condition = x < imm(3);
  EXPECT_TRUE(logical_and(imm({Element::kBool, 1}, 1), condition).same_as(condition));
  EXPECT_TRUE(select(imm({Element::kBool, 1}, 0), imm(5), x).same_as(x));
}

TEST(Expr, BuildingKeepsFloatZeroBecauseOfItsSign) {
  const Expr x = var("x", kF32);
  EXPECT_NE(as<Binary>(x + imm(kF32, 0)), nullptr);
}

TEST(Expr, FoldingDoesNotHideOverflow) {
  const Expr big = imm(std::numeric_limits<int64_t>::max());
  EXPECT_NE(as<Binary>(big + 1), nullptr);
  EXPECT_NE(as<Binary>(floor_div(big, imm(0))), nullptr);
}

TEST(Expr, NarrowIntegersWrapWhenFolded) {
  const Type u8{Element::kUInt8, 1};
  EXPECT_EQ(as_int(imm(u8, 250) + imm(u8, 10)), 4);
  EXPECT_EQ(as_int(cast({Element::kInt8, 1}, imm(200))), -56);
}

TEST(Expr, MinAndMaxOfConstantsPropagateNan) {
  const Expr folded = max(imm(kF32, std::nan("")), imm(kF32, 1));
  ASSERT_NE(as<FloatImm>(folded), nullptr);
  EXPECT_TRUE(std::isnan(as<FloatImm>(folded)->value));
}

TEST(Expr, FloatConstantsAreRoundedToTheirType) {
  EXPECT_EQ(as<FloatImm>(imm(kF32, 0.1))->value, static_cast<double>(0.1f));
  EXPECT_EQ(as<FloatImm>(imm({Element::kFloat16, 1}, 70000))->value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(as<FloatImm>(imm({Element::kFloat16, 1}, 2049))->value, 2048);
  EXPECT_EQ(as<FloatImm>(imm({Element::kFloat16, 1}, 0x1p-25))->value, 0);
  EXPECT_EQ(as<FloatImm>(imm({Element::kBFloat16, 1}, 257))->value, 256);
}

TEST(Expr, ScalarsAreBroadcastToTheVectorTheyMeet) {
  const Expr lanes = ramp(var("i"), imm(1), 8);
  const Expr sum = lanes + 3;
  EXPECT_EQ(sum->type().lanes, 8);
  EXPECT_EQ((sum < imm(4))->type(), (Type{Element::kBool, 8}));
  EXPECT_EQ(load(buffer("b", Element::kFloat32, {imm(100)}), {lanes})->type(), (Type{Element::kFloat32, 8}));
}

TEST(Expr, RewriteKeepsUnchangedNodes) {
  const Var i = var("i"), j = var("j");
  const Expr left = i * 2 + 1, whole = min(left, j);
  const Expr same = rewrite(whole, [](const Expr& e) { return e; });
  EXPECT_TRUE(same.same_as(whole));
  const Expr changed = substitute(whole, {{j.get(), imm(7)}});
  EXPECT_TRUE(as<Binary>(changed)->a.same_as(left));
}

TEST(Expr, SubstitutionFolds) {
  const Var n = var("n");
  EXPECT_EQ(as_int(substitute(floor_div(n + 3, 2) + 1, {{n.get(), imm(9)}})), 7);
}

TEST(Expr, VectorOperandsWidenTheNodeTheyReplaceAScalarIn) {
  const Var i = var("i");
  const Buffer b = buffer("b", Element::kFloat32, {imm(64)});
  const Expr body = cast(kF32, i) * load(b, {i}) + imm(kF32, 1);
  const Expr wide = rewrite(body, [&](const Expr& e) { return e.get() == i.get() ? ramp(e, imm(1), 4) : e; });
  EXPECT_EQ(wide->type(), (Type{Element::kFloat32, 4}));
}

TEST(Expr, StructuralEqualityIdentifiesVariablesByNode) {
  const Expr a = var("x"), b = var("x");
  EXPECT_TRUE(structurally_equal(a + 1, a + 1));
  EXPECT_FALSE(structurally_equal(a + 1, b + 1));
  EXPECT_TRUE(structurally_equal(imm(kF32, std::nan("")), imm(kF32, std::nan(""))));
  EXPECT_FALSE(structurally_equal(imm(kF32, 0.0), imm(kF32, -0.0)));
}

TEST(Layout, TextReadsBack) {
  for (const char* text :
       {"", "0,1,2,3,1:16", "0,1,2,3,1:16,0:32", "3,0,2,1,0:8,0:2", "^3:3:3", "0,1,2,3,1:8^2:0:2"}) {
    auto layout = Layout::parse(text, 4);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->text(), text);
  }
  EXPECT_EQ(*Layout::parse("row_major", 4), Layout()) << "as schedules write it";
}

TEST(Layout, ParseRejectsWhatIsNoLayoutOfTheRank) {
  for (const char* text :
       {"0,1,2", "0,1,2,3,4", "0,1,2,3,3", "0,1,2,3,1:0", "0,1,2,3:4", "0,1,2,x", "0,,1,2,3", "0,1,2,3,1:-4",
        "0,1,2,3^0:1:1", "0,1,2,3^3", "0,1,2,3^3:3:2", "0,1,2,3,1:2:3"})
    EXPECT_EQ(Layout::parse(text, 4).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

TEST(Element, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(Element::kUInt64); ++i) {
    const auto element = static_cast<Element>(i);
    EXPECT_EQ(element_from_name(element_name(element)).value(), element);
  }
  EXPECT_THAT(std::string(element_from_name("float").status().message()), testing::HasSubstr("f32"));
}

TEST(Element, KnowsTheEndsOfIntegers) {
  EXPECT_EQ(lowest_integer(Element::kInt16), -32768);
  EXPECT_EQ(highest_integer(Element::kInt16), 32767);
  EXPECT_EQ(highest_integer(Element::kUInt16), 65535);
  EXPECT_EQ(highest_integer(Element::kUInt32), 4294967295);
  EXPECT_EQ(lowest_integer(Element::kInt64), INT64_MIN);
  EXPECT_EQ(static_cast<uint64_t>(highest_integer(Element::kUInt64)), UINT64_MAX);
  EXPECT_EQ(lowest_integer(Element::kUInt64), 0);
  EXPECT_EQ(highest_integer(Element::kBool), 1);
}

TEST(Element, FoldsConstantsOfU64WithoutSign) {
  const Type u64{Element::kUInt64, 1};
  const Expr large = make<IntImm>(u64, int64_t{-2});  // 2^64 - 2
  const Expr seven = imm(u64, 7);
  EXPECT_EQ(to_string(large), "18446744073709551614u64");
  EXPECT_EQ(to_string(floor_div(large, seven)), "2635249153387078802u64");
  EXPECT_EQ(to_string(floor_mod(large, seven)), "0u64");
  EXPECT_EQ(to_string(min(large, seven)), "7u64");
  EXPECT_EQ(to_string(seven < large), "true");
  EXPECT_EQ(to_string(abs(large)), "18446744073709551614u64");
  EXPECT_EQ(to_string(cast({Element::kFloat64, 1}, large)), "18446744073709551616f64");
  EXPECT_EQ(to_string(imm(u64, 1e30)), "18446744073709551615u64");
}

}  // namespace
}  // namespace tf::tensor
