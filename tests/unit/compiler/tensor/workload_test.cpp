#include "compiler/tensor/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/tensor/evaluate.h"
#include "compiler/tensor/text.h"
#include "tests/unit/compiler/tensor/f32.h"

namespace tf::tensor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// relu(a[m, k] · b[k, n]) with m a named dimension, its names decorated with `suffix`.
Workload matmul(const std::string& suffix = "", int64_t k_extent = 3) {
  Workload w;
  w.label = "matmul+relu" + suffix;
  const Var batch = var("batch" + suffix);
  w.dims = {{batch, 1, 16}};
  const Buffer a = buffer("a" + suffix, Element::kFloat32, {batch, imm(k_extent)});
  const Buffer b = buffer("b" + suffix, Element::kFloat32, {imm(k_extent), imm(2)});
  w.inputs = {{a, false}, {b, true, 0.0, 2.0}};
  const Var m = var("m" + suffix), n = var("n" + suffix), k = var("k" + suffix);
  const Buffer c = buffer("c" + suffix, Element::kFloat32, {batch, imm(2)});
  w.stages.push_back({c,
                      {{m, batch}, {n, imm(2)}},
                      {{k, imm(k_extent)}},
                      Combiner::kSum,
                      load(a, {m, k}) * load(b, {k, n})});
  const Var x = var("x" + suffix), y = var("y" + suffix);
  const Buffer d = buffer("d" + suffix, Element::kFloat32, {batch, imm(2)});
  w.stages.push_back({d, {{x, batch}, {y, imm(2)}}, {}, {}, max(load(c, {x, y}), imm(kF32, 0))});
  w.outputs = {d};
  return w;
}

constexpr const char* kMatmulText =
    "workload v1\n"
    "dim d0 in 1..16\n"
    "input p0: f32[d0, 3]\n"
    "constant p1: f32[3, 2] in 0..2\n"
    "stage t0: f32[i0 < d0, i1 < 2] = reduce sum[r0 < 3] p0[i0, r0] * p1[r0, i1]\n"
    "stage t1: f32[i0 < d0, i1 < 2] = max(t0[i0, i1], 0f32)\n"
    "output t1\n";

TEST(Workload, CanonicalTextIsIndependentOfNames) {
  ASSERT_TRUE(verify(matmul()).ok()) << verify(matmul());
  EXPECT_EQ(canonical_text(matmul()), kMatmulText);
  EXPECT_EQ(canonical_text(matmul("_other")), kMatmulText);
  EXPECT_EQ(workload_key(matmul()), workload_key(matmul("_other")));
}

// Records in databases carry this key: a change of it loses what was tuned and needs a new semantics version.
TEST(Workload, TheKeyOfAKnownWorkloadIsStable) {
  EXPECT_EQ(workload_key(matmul()).hex(), "39368d72f91ec0eecba404e18dad7a51f04655906ea345b2a4ecd08e683924da");
}

TEST(Workload, CanonicalTextReadsBack) {
  const auto parsed = parse_workload(kMatmulText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(canonical_text(*parsed), kMatmulText);
  EXPECT_EQ(parsed->inputs[1].constant, true);
  EXPECT_EQ(parsed->inputs[1].high, 2.0);
}

TEST(Workload, TextForPeopleReadsBackToTheSameComputation) {
  const std::string text = to_string(matmul());
  EXPECT_THAT(text, HasSubstr("matmul+relu"));
  EXPECT_THAT(text, HasSubstr("reduce sum[k < 3] a[m, k] * b[k, n]"));
  const auto parsed = parse_workload(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(workload_key(*parsed), workload_key(matmul()));
}

TEST(Workload, TheKeyChangesWithWhateverIsComputed) {
  const std::string text = kMatmulText;
  const std::pair<const char*, const char*> edits[] = {
      {"1..16", "1..17"},     {"p0: f32", "p0: f32"}, {"constant", "input"},
      {"in 0..2", "in 0..3"}, {"sum", "max"},         {"r0 < 3] p0", "r0 < 2] p0"},
      {"0f32", "-0f32"},      {" * ", " + "},         {"output t1", "output t0, t1"}};
  for (const auto& [from, to] : edits) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string(from).size(), to);
    const auto parsed = parse_workload(changed);
    ASSERT_TRUE(parsed.ok()) << changed << parsed.status();
    EXPECT_EQ(workload_key(*parsed) == workload_key(matmul()), changed == text) << changed;
  }
}

TEST(Workload, MalformedTextNamesLineAndColumn) {
  const std::string text = kMatmulText;
  for (size_t n = 0; n + 2 < text.size(); ++n) {
    const auto parsed = parse_workload(text.substr(0, n));
    ASSERT_FALSE(parsed.ok()) << n;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  }
  for (size_t n = 0; n < text.size(); ++n) {  // any outcome but a crash
    for (char c : {'0', '[', '-', 'i', '/'}) {
      std::string changed = text;
      changed[n] = c;
      (void)parse_workload(changed);
    }
  }
  EXPECT_THAT(std::string(parse_workload("workload v2").status().message()),
              HasSubstr("line 1, column 10: expected 'v1'"));
  EXPECT_THAT(std::string(parse_workload("PK\x03 no text").status().message()), HasSubstr("not a workload"));
  EXPECT_THAT(std::string(parse_workload("workload v1\ninput p0: f31[]").status().message()),
              HasSubstr("line 2, column 11: expected an element type"));
  EXPECT_THAT(std::string(parse_workload("workload v1 input p: f32[4 // 0] output p").status().message()),
              HasSubstr("has no value"));
}

TEST(Workload, VerifyNamesTheStageThatIsWrong) {
  const auto message = [](const Workload& w) { return std::string(verify(w).message()); };
  Workload w = matmul();
  w.stages[1].combiner = Combiner::kSum;
  EXPECT_THAT(message(w), HasSubstr("stage 'd': a combiner and reduce axes go together"));
  w = matmul();
  std::swap(w.stages[0], w.stages[1]);
  EXPECT_THAT(message(w),
              HasSubstr("stage 'd': it reads 'c', which is neither an input nor an earlier stage"));
  w = matmul();
  w.stages[1].body = w.stages[0].body;
  EXPECT_THAT(message(w), HasSubstr("stage 'd': variable 'm' is not bound"));
  w = matmul();
  w.stages[1].body = imm(int64_t{3});
  EXPECT_THAT(message(w), HasSubstr("stage 'd': the body's type"));
  w = matmul();
  w.stages[1].axes = w.stages[0].axes;
  EXPECT_THAT(message(w), HasSubstr("axis 'm' is already in use"));
  w = matmul();
  w.stages[1].body = load(w.stages[0].output, {w.stages[1].axes[0].var});
  EXPECT_THAT(message(w), HasSubstr("of rank 2 with 1 indices"));
  w = matmul();
  w.outputs = {w.inputs[0].buffer};
  EXPECT_THAT(message(w), HasSubstr("not computed by a stage"));
  w = matmul();
  w.outputs.clear();
  EXPECT_THAT(message(w), HasSubstr("at least one"));
  w = matmul();
  w.stages[1].axes[1].extent = imm(int64_t{5});
  EXPECT_THAT(message(w), HasSubstr("the extent of axis 1 is not its buffer's"));
}

TEST(Workload, BindingReplacesDimensions) {
  const auto bound = tensor::bind(matmul(), {{"batch", 2}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->dims.empty());
  EXPECT_EQ(element_count(bound->outputs[0]), 4);
  EXPECT_TRUE(bound->outputs[0].same_as(bound->stages[1].output));
  EXPECT_EQ(count_flops(*bound), 2 * 2 * 2 * 3 + 2 * 2);
  EXPECT_EQ(count_bytes(*bound), 4 * (6 + 6 + 4));
}

TEST(Workload, BindErrorsNameTheDimension) {
  const auto message = [](const Binding& b) {
    return std::string(tensor::bind(matmul(), b).status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("dimension 'batch' has no value; give one from 1 to 16"));
  EXPECT_THAT(message({{"batch", 17}}), HasSubstr("dimension 'batch' is 17; it must be from 1 to 16"));
  EXPECT_THAT(message({{"batch", 2}, {"seq", 1}}),
              HasSubstr("there is no dimension 'seq' to set to 1; it has batch"));
}

TEST(Workload, BindingsThatMakeAnExtentNegativeAreRejected) {
  const auto w = parse_workload(
      "workload v1 dim d0 in 1..16 input p0: f32[d0] stage t0: f32[i0 < d0 - 4] = p0[i0] output t0");
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_TRUE(tensor::bind(*w, {{"d0", 5}}).ok());
  EXPECT_THAT(std::string(tensor::bind(*w, {{"d0", 3}}).status().message()), HasSubstr("an extent is -1"));
}

TEST(Binding, TextReadsBack) {
  const Binding binding{{"sequence", 128}, {"batch", 4}};
  EXPECT_EQ(binding_text(binding), "batch=4,sequence=128");
  EXPECT_EQ(*parse_binding("batch=4,sequence=128"), binding);
  EXPECT_EQ(parse_binding("")->size(), 0u);
  for (const char* text : {"batch", "=3", "batch=x", "batch=1,", "batch=1,batch=2"})
    EXPECT_EQ(parse_binding(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_EQ(parse_binding("batch=1,batch=2").status().message(),
            "dimension 'batch' is given twice: give it once");
}

TEST(Binding, CanonicalNamesFitTheCanonicalWorkload) {
  const Binding canonical = canonical_binding(matmul(), {{"batch", 4}, {"unrelated", 1}});
  EXPECT_EQ(binding_text(canonical), "d0=4");
  EXPECT_TRUE(tensor::bind(*parse_workload(kMatmulText), canonical).ok());
}

TEST(Combiner, IdentityIsNeutral) {
  for (Combiner combiner : {Combiner::kSum, Combiner::kMax, Combiner::kMin, Combiner::kProd})
    for (Element element :
         {Element::kInt8, Element::kInt32, Element::kInt64, Element::kFloat32, Element::kFloat64}) {
      const Expr seven = imm({element, 1}, 7);
      EXPECT_TRUE(structurally_equal(combine(combiner, identity(combiner, element), seven), seven));
    }
}

TEST(Evaluate, AMatmulWithReluIsWhatLoopsGive) {
  const auto bound = tensor::bind(matmul(), {{"batch", 2}});
  const auto outputs = evaluate(*bound, {{1, 2, 3, -4, -5, -6}, {1, 2, 3, 4, 5, 6}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(22, 28, 0, 0));
}

TEST(Evaluate, MisuseAndReadsOutsideABufferAreErrors) {
  EXPECT_THAT(std::string(evaluate(matmul(), {{}, {}}).status().message()),
              HasSubstr("bind the workload first"));
  const auto bound = tensor::bind(matmul(), {{"batch", 2}});
  EXPECT_THAT(std::string(evaluate(*bound, {{1}, {2}}).status().message()),
              HasSubstr("input 'a' has 6 elements"));
  EXPECT_THAT(std::string(evaluate(*bound, {}).status().message()), HasSubstr("2 inputs, not 0"));
  const auto outside =
      parse_workload("workload v1 input p0: f32[4] stage t0: f32[i0 < 4] = p0[i0 - 1] output t0");
  EXPECT_EQ(evaluate(*outside, {{1, 2, 3, 4}}).status().message(),
            "stage 't0': 'p0' is read at -1 of axis 0, whose extent is 4");
}

TEST(Evaluate, GuardedLoadsAreNotPerformedAndIntegersWrap) {
  const auto w = parse_workload(
      "workload v1 input p0: u8[4] "
      "stage t0: u8[i0 < 5] = select(i0 < 4, p0[i0] * 2u8, 7u8) "
      "stage t1: i32[] = reduce prod[r0 < 3] cast<i32>(t0[r0 + 1]) "
      "output t0, t1");
  ASSERT_TRUE(w.ok()) << w.status();
  const auto outputs = evaluate(*w, {{1, 100, 200, 3}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(2, 200, 144, 6, 7));
  EXPECT_THAT((*outputs)[1], ElementsAre(200 * 144 * 6));
}

TEST(Evaluate, IntegersAreDividedByAnything) {
  const auto w = parse_workload(
      "workload v1 input p0: i32[4] input p1: i32[4] stage t0: i32[i0 < 4] = p0[i0] // p1[i0] "
      "stage t1: i32[i0 < 4] = p0[i0] % p1[i0] output t0, t1");
  ASSERT_TRUE(w.ok()) << w.status();
  const auto outputs = evaluate(*w, {{5, -0x1p31, -0x1p31, -7}, {0, 0, -1, 2}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(5, -0x1p31, -0x1p31, -4));
  EXPECT_THAT((*outputs)[1], ElementsAre(0, 0, 0, 1));
}

TEST(Evaluate, SumsAndProductsOfIntegersWrapToTheLastDigit) {
  const auto w = parse_workload(
      "workload v1 input p0: i32[2] stage t0: i32[] = reduce prod[r0 < 2] p0[r0] "
      "stage t1: i32[] = reduce sum[r0 < 2] p0[r0] "
      "stage t2: i64[i0 < 2] = (cast<i64>(p0[i0]) - 9223372036854775807) * 3 // 9223372036854775807 "
      "output t0, t1, t2");
  ASSERT_TRUE(w.ok()) << w.status();
  const auto outputs = evaluate(*w, {{2147483647, 2147483646}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(-0x1p31 + 2));  // of 2^62 - 3 * 2^31 + 2, more than a double holds
  EXPECT_THAT((*outputs)[1], ElementsAre(-3));
  EXPECT_THAT((*outputs)[2], ElementsAre(-1, -1));
}

TEST(Evaluate, ExponentsAreTakenApartAndPutTogether) {
  const auto w = parse_workload(
      "workload v1 input p0: f32[5] stage t0: f32[i0 < 5] = logb(p0[i0]) "
      "stage t1: f32[i0 < 5] = ldexp(p0[i0], 3f32) "
      "stage t2: f32[i0 < 5] = copysign(significand(p0[i0]), p0[i0]) output t0, t1, t2");
  const auto outputs = evaluate(*w, {{1, -10, 0, 0.3, INFINITY}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(0, 3, -127, -2, 128));
  EXPECT_THAT((*outputs)[1], ElementsAre(8, -80, 0, 2.4, INFINITY));
  EXPECT_THAT((*outputs)[2], ElementsAre(1, -1.25, 1, 1.2, 1));
}

TEST(Evaluate, EmptyReductionsGiveTheIdentityAndEmptyTensorsNothing) {
  const auto w = parse_workload(
      "workload v1 input p0: f32[0, 2] stage t0: f32[i0 < 2] = reduce max[r0 < 0] p0[r0, i0] "
      "stage t1: f32[i0 < 0, i1 < 2] = p0[i0, i1] output t0, t1");
  const auto outputs = evaluate(*w, {{}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(-INFINITY, -INFINITY));
  EXPECT_TRUE((*outputs)[1].empty());
}

TEST(Magnitudes, OfAMatmulAreSumsOfAbsoluteProducts) {
  const Workload w = with_magnitudes(*tensor::bind(matmul(), {{"batch", 1}}));
  ASSERT_TRUE(verify(w).ok()) << verify(w);
  ASSERT_EQ(w.outputs.size(), 2u);
  const auto outputs = evaluate(w, {{1, -2, 3}, {1, 2, 3, -4, -5, 6}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(0, 28));
  EXPECT_THAT((*outputs)[1], ElementsAre(1 + 6 + 15, 2 + 8 + 18));
}

TEST(Magnitudes, BoundTheChangeOfEveryFunctionUnderRounding) {
  // y = f(a - b) with a - b cancelling: an error of a relative 1e-4 in a and b moves y by at most 1e-4 *
  // M(y).
  for (const char* f : {"exp(v)",
                        "expm1(v)",
                        "log(v + 3f32)",
                        "log1p(v + 2f32)",
                        "copysign(v, 1f32)",
                        "sqrt(v + 3f32)",
                        "rsqrt(v + 3f32)",
                        "tanh(v)",
                        "erf(v)",
                        "sigmoid(v)",
                        "pow(v + 3f32, -0.75f32)",
                        "sin(v)",
                        "cos(v)",
                        "1f32 / (v + 3f32)",
                        "max(v, 0f32)",
                        "select(0f32 < v, v, v * 0.1f32)",
                        "v * v",
                        "fma(v, v, v)",
                        "abs(v)",
                        "v / 3f32 - v"}) {
    std::string body = f;
    for (size_t at; (at = body.find('v')) != std::string::npos;) body.replace(at, 1, "t0[i0]");
    const auto w = parse_workload(
        "workload v1 input p0: f32[1] input p1: f32[1] stage t0: f32[i0 < 1] = p0[i0] - p1[i0] "
        "stage t1: f32[i0 < 1] = " +
        body + " output t1");
    ASSERT_TRUE(w.ok()) << body << w.status();
    const Workload m = with_magnitudes(*w);
    ASSERT_TRUE(verify(m).ok()) << verify(m);
    for (double a : {0.7, 1.3, -1.1})
      for (double b : {0.69, 1.31, -1.2}) {
        const auto exact = evaluate(m, {{a}, {b}});
        ASSERT_TRUE(exact.ok()) << exact.status();
        const double magnitude = (*exact)[1][0];
        EXPECT_TRUE(std::isfinite(magnitude) && magnitude >= std::fabs((*exact)[0][0])) << f;
        for (double sa : {-1e-4, 1e-4})
          for (double sb : {-1e-4, 1e-4}) {
            const auto moved = evaluate(*w, {{a * (1 + sa)}, {b * (1 + sb)}});
            EXPECT_LE(std::fabs((*moved)[0][0] - (*exact)[0][0]), 2.04e-4 * magnitude)
                << f << " at " << a << ", " << b;
          }
      }
  }
}

TEST(Magnitudes, OfMaxPaddingAreFinite) {
  const auto w = parse_workload(
      "workload v1 input p0: f32[2] stage t0: f32[i0 < 3] = select(i0 < 2, p0[i0], -inf f32) "
      "stage t1: f32[] = reduce max[r0 < 3] t0[r0] output t1");
  const auto outputs = evaluate(with_magnitudes(*w), {{-3, 2}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0], ElementsAre(2));
  EXPECT_THAT((*outputs)[1], ElementsAre(3));
}

}  // namespace
}  // namespace tf::tensor
