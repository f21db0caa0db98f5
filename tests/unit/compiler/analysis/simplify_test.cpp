#include "compiler/analysis/simplify.h"

#include <optional>
#include <random>

#include "compiler/ir/print.h"
#include "compiler/tensor/text.h"
#include "gmock/gmock.h"
#include "tests/unit/compiler/analysis/random_condition.h"

namespace tf::analysis {
namespace {

using ir::Buffer;
using ir::ForKind;
using ir::Stmt;
using ir::Var;
using tensor::broadcast;
using tensor::floor_div;
using tensor::floor_mod;
using tensor::imm;
using tensor::ramp;
using tensor::to_string;
using tensor::var;
using testing::Eq;

class Simplify : public testing::Test {
 protected:
  void range(const Var& v, int64_t extent) { ranges_[v.get()] = Interval::from_extent(0, extent); }
  std::string simple(const Expr& expr) { return to_string(simplify(expr, ranges_)); }

  Var i = var("i"), j = var("j"), o = var("o"), x = var("x"), y = var("y");
  RangeMap ranges_;
};

TEST_F(Simplify, TakesTheTileOutOfADivision) {
  range(i, 16);
  EXPECT_THAT(simple(floor_div(o * 16 + i, 16)), Eq("o"));
  EXPECT_THAT(simple(floor_mod(o * 16 + i, 16)), Eq("i"));
  EXPECT_THAT(simple(floor_div(o * 16 + i + 32, 16)), Eq("o + 2"));
}

TEST_F(Simplify, DividesByAMultipleOfTheTile) {
  range(i, 8);
  EXPECT_THAT(simple(floor_div(o * 8 + i, 16)), Eq("o // 2"));
  EXPECT_THAT(simple(floor_mod(o * 8 + i, 16)), Eq("o % 2 * 8 + i"));
}

TEST_F(Simplify, PutsQuotientAndRemainderTogether) {
  EXPECT_THAT(simple(floor_div(x, 4) * 4 + floor_mod(x, 4)), Eq("x"));
  EXPECT_THAT(simple((floor_div(x, 4) * 4 + floor_mod(x, 4)) * 3 + y - x * 3), Eq("y"));
  EXPECT_THAT(simple(floor_div(x, 16) * 16 + floor_mod(floor_div(x, 4), 4) * 4 + floor_mod(x, 4)), Eq("x"));
  EXPECT_THAT(simple(x - floor_div(x, 4) * 4), Eq("x % 4"));
}

TEST_F(Simplify, MergesNestedDivisions) {
  EXPECT_THAT(simple(floor_div(floor_div(x, 4), 8)), Eq("x // 32"));
  EXPECT_THAT(simple(floor_mod(floor_mod(x, 16), 4)), Eq("x % 4"));
}

TEST_F(Simplify, CancelsTerms) {
  EXPECT_THAT(simple(x + y - x), Eq("y"));
  EXPECT_THAT(simple((x + 3) * 2 - x - x), Eq("6"));
  EXPECT_THAT(simple(x * y - y * x + x * y), Eq("x * y"));
}

TEST_F(Simplify, DecidesComparisonsByIntervals) {
  range(i, 16);
  EXPECT_THAT(simple(i < imm(16)), Eq("true"));
  EXPECT_THAT(simple(i < imm(0)), Eq("false"));
  EXPECT_THAT(simple(x + i < x + 16), Eq("true"));
  EXPECT_THAT(simple(tensor::equal(i, imm(16))), Eq("false"));
  EXPECT_THAT(simple(tensor::min(x + i, x + 15)), Eq("x + i"));
  EXPECT_THAT(simple(tensor::max(i, imm(0))), Eq("i"));
}

TEST_F(Simplify, FreesAGuardOfItsInnerLoop) {
  range(i, 16);
  EXPECT_THAT(simple(o * 16 + i < imm(96)), Eq("o < 6"));
  EXPECT_THAT(simple(o * 16 + i < imm(100)), Eq("o * 16 + i < 100"));
  EXPECT_THAT(simple(imm(95) < o * 16 + i), Eq("5 < o"));
}

TEST_F(Simplify, KnowsInTheSecondConditionThatTheFirstHolds) {
  EXPECT_THAT(simple(tensor::logical_and(x < imm(4), x < imm(8))), Eq("x < 4"));
  EXPECT_THAT(simple(tensor::logical_or(x < imm(4), imm(3) < x)), Eq("true"));
  EXPECT_THAT(simple(tensor::logical_and(x < y, y < x)), Eq("false"));
}

TEST_F(Simplify, TreatsVectorsLaneWise) {
  EXPECT_THAT(simple(floor_div(ramp(o * 16, imm(1), 16), 16)), Eq("broadcast(o, 16)"));
  EXPECT_THAT(simple(floor_mod(ramp(o * 16, imm(1), 16), 16)), Eq("ramp(0, 1, 16)"));
  EXPECT_THAT(simple(broadcast(x, 8) + ramp(y, imm(2), 8)), Eq("ramp(x + y, 2, 8)"));
  EXPECT_THAT(simple(ramp(x, y, 8) * 3), Eq("ramp(x * 3, y * 3, 8)"));
  EXPECT_THAT(simple(ramp(o * 16, imm(1), 16) < broadcast(imm(96), 16)), Eq("broadcast(o < 6, 16)"));
}

TEST_F(Simplify, DropsAPredicateThatAlwaysHolds) {
  range(o, 6);
  const Buffer a = tensor::buffer("a", ir::Element::kFloat32, {imm(96)});
  const Expr index = ramp(o * 16, imm(1), 16);
  EXPECT_THAT(simple(tensor::load(a, {index}, index < broadcast(imm(96), 16))), Eq("a[ramp(o * 16, 1, 16)]"));
}

TEST_F(Simplify, ReadsOnceWhatAllLanesShare) {
  const Buffer a = tensor::buffer("a", ir::Element::kFloat32, {imm(96)});
  EXPECT_THAT(simple(tensor::load(a, {floor_div(ramp(o * 16, imm(1), 16), 16)})), Eq("broadcast(a[o], 16)"));
}

TEST_F(Simplify, KeepsTheNodeWhenNothingChanges) {
  const Expr expr = x * 3 + y;
  EXPECT_TRUE(simplify(expr, ranges_).same_as(expr));
}

TEST_F(Simplify, IsFastOnSharedSubtrees) {
  Expr deep = x;
  for (int k = 0; k < 40; ++k) deep = floor_div(deep + y, 3) + floor_mod(deep, 5);
  const Expr out = simplify(tensor::min(deep, y), {{x.get(), {0, 9}}});
  EXPECT_TRUE(out);
}

// --- Random expressions, evaluated before and after.

using Values = std::map<const VarNode*, int64_t>;

// Division of whole numbers has no value here: nothing makes it of indices.
std::optional<int64_t> evaluate(ir::BinaryOp op, int64_t a, int64_t b) {
  auto div = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  switch (op) {
    case ir::BinaryOp::kAdd:
      return a + b;
    case ir::BinaryOp::kSub:
      return a - b;
    case ir::BinaryOp::kMul:
      return a * b;
    case ir::BinaryOp::kFloorDiv:
      return div();
    case ir::BinaryOp::kFloorMod:
      return a - div() * b;
    case ir::BinaryOp::kMin:
      return std::min(a, b);
    case ir::BinaryOp::kMax:
      return std::max(a, b);
    case ir::BinaryOp::kEq:
      return a == b;
    case ir::BinaryOp::kNe:
      return a != b;
    case ir::BinaryOp::kLt:
      return a < b;
    case ir::BinaryOp::kLe:
      return a <= b;
    case ir::BinaryOp::kAnd:
      return a != 0 && b != 0;
    case ir::BinaryOp::kOr:
      return a != 0 || b != 0;
    case ir::BinaryOp::kDiv:
      break;
  }
  return std::nullopt;
}

int64_t evaluate(const Expr& e, const Values& values, int lane) {
  switch (e->kind()) {
    case tensor::ExprKind::kIntImm:
      return ir::as<ir::IntImm>(e)->value;
    case tensor::ExprKind::kVarNode:
      return values.at(ir::as<VarNode>(e));
    case tensor::ExprKind::kRamp: {
      const auto* node = ir::as<ir::Ramp>(e);
      return evaluate(node->base, values, 0) + evaluate(node->stride, values, 0) * lane;
    }
    case tensor::ExprKind::kBroadcast:
      return evaluate(ir::as<ir::Broadcast>(e)->value, values, 0);
    case tensor::ExprKind::kSelect: {
      const auto* node = ir::as<ir::Select>(e);
      return evaluate(evaluate(node->condition, values, lane) != 0 ? node->if_true : node->if_false, values,
                      lane);
    }
    case tensor::ExprKind::kUnary: {
      const auto* node = ir::as<ir::Unary>(e);
      const int64_t a = evaluate(node->a, values, lane);
      return node->op == ir::UnaryOp::kNeg ? -a : node->op == ir::UnaryOp::kNot ? a == 0 : std::abs(a);
    }
    case tensor::ExprKind::kBinary: {
      const auto* node = ir::as<ir::Binary>(e);
      const int64_t a = evaluate(node->a, values, lane), b = evaluate(node->b, values, lane);
      if (const auto value = evaluate(node->op, a, b)) return *value;
      break;
    }
    default:
      break;
  }
  ADD_FAILURE() << "cannot evaluate " << to_string(e);
  return 0;
}

class RandomExprs {
 public:
  explicit RandomExprs(uint64_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c", "d"}) {
      vars.push_back(var(name));
      const int64_t low = pick(3) == 0 ? -pick(20) : 0;
      ranges[vars.back().get()] = {low, low + pick(40)};
    }
    lanes = pick(2) == 0 ? 1 : 4 << pick(3);
  }

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t constant() {
    static constexpr int64_t kUsual[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 5, 7};
    return kUsual[pick(14)];
  }

  Expr number(int depth, int n) {
    if (depth == 0 || pick(8) == 0) {
      if (n > 1 && pick(2) == 0) return ramp(number(0, 1), imm(constant()), n);
      const Expr leaf = pick(4) == 0 ? imm(constant() - 3) : Expr(vars[static_cast<size_t>(pick(4))]);
      return broadcast(leaf, n);
    }
    if (n > 1 && pick(8) == 0)
      return pick(2) == 0 ? ramp(number(depth - 1, 1), number(1, 1), n) : broadcast(number(depth - 1, 1), n);
    const Expr a = number(depth - 1, n);
    switch (pick(9)) {
      case 0:
      case 1:
        return a * constant() + number(depth - 1, n);
      case 2:
        return a - number(depth - 1, n);
      case 3:
      case 4:
        return floor_div(a, constant());
      case 5:
        return floor_mod(a, constant());
      case 6:
        return pick(2) == 0 ? tensor::min(a, number(depth - 1, n)) : tensor::max(a, number(depth - 1, n));
      case 7:
        return tensor::select(condition(depth - 1, n), a, number(depth - 1, n));
      default: {
        // The pairs that fused and split loops make.
        const int64_t c = constant();
        return floor_div(a, c) * c + floor_mod(a, c) * (1 + pick(2));
      }
    }
  }

  Expr condition(int depth, int n) {
    return random_condition(
        depth, [&](int64_t of) { return pick(of); }, [&](int deep) { return number(deep, n); },
        [&] { return broadcast(imm(constant() * 3), n); });
  }

  Values point() {
    Values values;
    for (const Var& v : vars) {
      const Interval& r = ranges[v.get()];
      values[v.get()] = r.min + pick(r.max - r.min + 1);
    }
    return values;
  }

  std::vector<Var> vars;
  RangeMap ranges;
  int lanes = 1;

 private:
  std::mt19937_64 random_;
};

TEST(SimplifyRandom, KeepsTheValueOfEveryExpression) {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    RandomExprs random(seed);
    const Expr before = seed % 3 == 0 ? random.condition(3, random.lanes) : random.number(4, random.lanes);
    const Expr after = simplify(before, random.ranges);
    const Interval bounds = tight_interval_of(before, random.ranges);
    const Interval loose = interval_of(before, random.ranges);
    ASSERT_THAT(after->type(), Eq(before->type())) << to_string(before) << " => " << to_string(after);
    ASSERT_TRUE(tensor::structurally_equal(simplify(before, random.ranges), after)) << to_string(before);
    for (int k = 0; k < 12; ++k) {
      const Values values = random.point();
      for (int lane = 0; lane < random.lanes; lane += 1 + static_cast<int>(random.pick(3))) {
        const int64_t expected = evaluate(before, values, lane);
        std::string at;
        for (const Var& v : random.vars) at += v->name + "=" + std::to_string(values.at(v.get())) + " ";
        ASSERT_THAT(evaluate(after, values, lane), Eq(expected))
            << "seed " << seed << ": " << to_string(before) << "\n => " << to_string(after) << "\n at " << at
            << "lane " << lane;
        ASSERT_TRUE(bounds.contains(expected))
            << "seed " << seed << ": " << to_string(before) << " at " << at;
        ASSERT_TRUE(loose.contains(expected)) << "seed " << seed << ": " << to_string(before) << " at " << at;
      }
    }
  }
}

// --- Statements.

class SimplifyStmt : public testing::Test {
 protected:
  Buffer a = tensor::buffer("a", ir::Element::kFloat32, {imm(100)});
  Var i = var("i"), j = var("j");
  Expr one = imm({ir::Element::kFloat32, 1}, 1);
  std::string simple(const Stmt& stmt) { return ir::to_string(simplify(stmt)); }
};

TEST_F(SimplifyStmt, SubstitutesLoopsThatRunOnce) {
  const Stmt inner = ir::make_for(j, i * 2, imm(1), ForKind::kSerial, ir::store(a, {i + j}, one));
  const Stmt outer = ir::make_for(i, imm(0), imm(8), ForKind::kSerial, inner);
  EXPECT_THAT(simple(outer), Eq("for i = 0 extent 8 {\n  a[i * 3] = 1f32\n}\n"));
}

TEST_F(SimplifyStmt, RemovesWhatCannotRun) {
  const Stmt never = ir::make_for(j, imm(0), imm(0), ForKind::kSerial, ir::store(a, {j}, one));
  EXPECT_THAT(simple(ir::make_for(i, imm(0), imm(8), ForKind::kSerial, never)), Eq(""));
  EXPECT_THAT(simple(ir::make_for(i, imm(0), imm(8), ForKind::kSerial,
                                  ir::make_stmt<ir::If>(i < imm(0), ir::store(a, {i}, one)))),
              Eq(""));
}

TEST_F(SimplifyStmt, UsesLoopRangesAndEnclosingConditions) {
  const Stmt body = ir::store(a, {i}, tensor::select(i < imm(4), one, one + one));
  const Stmt guarded = ir::make_stmt<ir::If>(i < imm(4), body, ir::make_stmt<ir::If>(i < imm(8), body));
  EXPECT_THAT(
      simple(ir::make_for(i, imm(0), imm(8), ForKind::kSerial, guarded)),
      Eq("for i = 0 extent 8 {\n  if i < 4 {\n    a[i] = 1f32\n  } else {\n    a[i] = 2f32\n  }\n}\n"));
}

// What a copy does not read where its predicate does not hold may lie anywhere.
TEST_F(SimplifyStmt, UsesThePredicatesOfCopies) {
  const Expr row = tensor::floor_div(i * 8 + j, 28),
             place = tensor::floor_mod(row, 28) * 28 + tensor::floor_mod(i * 8 + j, 28);
  const Buffer b = tensor::buffer("b", ir::Element::kFloat32, {imm(1000)});
  const Buffer s = tensor::buffer("s", ir::Element::kFloat32, {imm(1000)}, tensor::Scope::kShared);
  const auto around = [&](const Stmt& body) {
    return ir::make_for(i, imm(0), imm(104), ForKind::kSerial,
                        ir::make_for(j, imm(0), imm(8), ForKind::kSerial, body));
  };
  EXPECT_THAT(simple(around(ir::make_stmt<ir::AsyncCopy>(s, std::vector<Expr>{i + j}, b,
                                                         std::vector<Expr>{place}, 1, row < imm(28)))),
              HasSubstr("async_copy s[i + j] from b[i * 8 + j] elements 1 where (i * 8 + j) // 28 < 28\n"));
  EXPECT_THAT(simple(around(ir::store(s, {i + j}, tensor::load(b, {place}, row < imm(28))))),
              HasSubstr("s[i + j] = (b[i * 8 + j] if (i * 8 + j) // 28 < 28)\n"));
}

TEST_F(SimplifyStmt, SubstitutesTrivialLets) {
  const Var v = var("v");
  EXPECT_THAT(simple(ir::make_stmt<ir::Let>(v, imm(3), ir::store(a, {v + 1}, one))), Eq("a[4] = 1f32\n"));
}

TEST_F(SimplifyStmt, ReadsTheMinimumOfALoopThatRunsOnceBeforeItsBody) {
  const Buffer n = tensor::buffer("n", ir::Element::kInt64, {imm(1)});
  const Stmt body = ir::seq({ir::store(n, {imm(0)}, imm(5)), ir::store(a, {i}, one)});
  EXPECT_THAT(simple(ir::make_for(i, tensor::load(n, {imm(0)}), imm(1), ForKind::kSerial, body)),
              Eq("let i = n[0]\nn[0] = 5\na[i] = 1f32\n"));
}

TEST_F(SimplifyStmt, ForgetsWhatALoadGaveOnceMemoryChanged) {
  const Buffer n = tensor::buffer("n", ir::Element::kInt64, {imm(1)});
  const Expr condition = tensor::load(n, {imm(0)}) < imm(3);
  const Stmt inner = ir::seq(
      {ir::store(n, {imm(0)}, imm(5)), ir::make_stmt<ir::If>(condition, ir::store(a, {imm(0)}, one))});
  EXPECT_THAT(simple(ir::make_stmt<ir::If>(condition, inner)),
              Eq("if n[0] < 3 {\n  n[0] = 5\n  if n[0] < 3 {\n    a[0] = 1f32\n  }\n}\n"));
}

}  // namespace
}  // namespace tf::analysis
