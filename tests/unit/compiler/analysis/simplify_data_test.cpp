// Arithmetic on 64-bit data wraps: examples of what is not concluded from it and what is, and random
// statements about data that lies at the ends of its type, interpreted before and after simplification.
#include <random>

#include "compiler/analysis/simplify.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/print.h"
#include "compiler/tensor/rebuild.h"
#include "compiler/tensor/text.h"
#include "tests/support/ir/ir_checks.h"
#include "tests/unit/compiler/analysis/random_condition.h"

namespace tf::analysis {
namespace {

using ir::Buffer;
using ir::ForKind;
using ir::Function;
using ir::Stmt;
using ir::Var;
using tensor::floor_div;
using tensor::floor_mod;
using tensor::imm;
using tensor::to_string;
using ::testing::Eq;

constexpr int64_t kSize = 64;
constexpr int kLanes = 4;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

class SimplifyData : public ::testing::Test {
 protected:
  std::string simple(const Expr& expr) { return to_string(simplify(expr, {{i.get(), {0, 15}}})); }
  std::string unchanged(const Expr& expr) { return to_string(expr); }

  const Var i = tensor::var("i");
  const Buffer a = tensor::buffer("a", ir::Element::kInt64, {imm(8)});
  const Expr x = tensor::load(a, {imm(0)}), y = tensor::load(a, {imm(1)});
  // Known to be small.
  const Expr digit = tensor::max(tensor::min(x, imm(9)), imm(0));
};

TEST_F(SimplifyData, ComparesSumsAsTheyAre) {
  EXPECT_THAT(simple(x + 1 < imm(6)), Eq("a[0] + 1 < 6"));
  EXPECT_THAT(simple(x * 16 < imm(96)), Eq("a[0] * 16 < 96"));
  EXPECT_THAT(simple(x < x + 1), Eq("a[0] < a[0] + 1"));
  EXPECT_THAT(simple(x <= y), Eq("a[0] <= a[1]"));
  EXPECT_THAT(simple(tensor::logical_not(x < y)), Eq("a[1] <= a[0]"));
  EXPECT_THAT(simple(x <= imm(kHighest)), Eq(unchanged(x <= imm(kHighest))));
  EXPECT_THAT(simple(tensor::max(tensor::min(x, imm(100)), imm(kLowest))),
              Eq(unchanged(tensor::max(tensor::min(x, imm(100)), imm(kLowest)))));
  EXPECT_THAT(simple(tensor::min(x + 1, x + 2)), Eq("min(a[0] + 1, a[0] + 2)"));
}

TEST_F(SimplifyData, DividesSumsAsTheyAre) {
  for (const Expr& e : {floor_div(x * 16 + 3, 16), floor_mod(x * 12 + 5, 24), floor_div(x + i, 16),
                        floor_div(tensor::max(x, imm(7)) + 7, 7)})
    EXPECT_THAT(simple(e), Eq(unchanged(e)));
}

TEST_F(SimplifyData, CancelsAndMergesWhatWrapsAlike) {
  EXPECT_THAT(simple(x + y - x), Eq("a[1]"));
  EXPECT_THAT(simple((x + 3) * 2 - x - x), Eq("6"));
  EXPECT_THAT(simple(floor_div(x, 4) * 4 + floor_mod(x, 4)), Eq("a[0]"));
  EXPECT_THAT(simple(floor_div(floor_div(x, 4), 8)), Eq("a[0] // 32"));
  EXPECT_THAT(simple(tensor::equal(x + y, y + x)), Eq("true"));
  EXPECT_THAT(simple(tensor::equal(x + 1, x + 2)), Eq("false"));
  EXPECT_THAT(simple(x + 1 < x + 1), Eq("false"));
  EXPECT_THAT(simple(x < imm(4)), Eq("a[0] < 4"));
}

TEST_F(SimplifyData, IsAnIndexLikeOthersWhereBoundsKeepItSmall) {
  EXPECT_THAT(simple(floor_div(digit * 16 + i, 16)), Eq(to_string(digit)));
  EXPECT_THAT(simple(floor_mod(digit * 16 + i, 16)), Eq("i"));
  EXPECT_THAT(simple(digit + 1 < imm(11)), Eq("true"));
  EXPECT_THAT(simple(digit * 16 + i < imm(96)), Eq(to_string(digit) + " < 6"));
  const Expr narrow =
      tensor::cast(tensor::kIndex, tensor::load(tensor::buffer("n", ir::Element::kInt32, {imm(8)}), {i}));
  EXPECT_THAT(simple(floor_div(narrow * 16 + 3, 16)), Eq("cast<i64>(n[i])"));
}

TEST_F(SimplifyData, CanBeDividedByNothing) {
  EXPECT_THAT(simple(floor_div(x, y - y)), Eq("a[0]"));
  EXPECT_THAT(simple(floor_mod(x, y - y)), Eq("0"));
  EXPECT_THAT(simple(floor_div(imm(7), i + x - x)), Eq("7 // select(i == 0, 1, i)"));
}

TEST_F(SimplifyData, HasNoBoundOnceItMayWrap) {
  const auto bounds = [&](const Expr& e) {
    const Interval loose = interval_of(e, {}), tight = tight_interval_of(e, {});
    EXPECT_TRUE(loose.contains(tight)) << to_string(e);
    return tight;
  };
  const Expr positive = tensor::max(x, imm(1));
  for (const Expr& e :
       {positive + 1, positive * 2, -tensor::min(x, imm(0)), tensor::abs(x), positive * positive,
        tensor::cast(tensor::kIndex, tensor::cast({ir::Element::kInt32, 1}, positive)) * positive})
    EXPECT_THAT(bounds(e), Eq(Interval::everything())) << to_string(e);
  EXPECT_THAT(bounds(digit * 3 + 1), Eq(Interval{1, 28}));
  EXPECT_THAT(bounds(tensor::min(positive + 1, imm(5))).max, Eq(5));
  EXPECT_FALSE(bounds(tensor::min(positive + 1, imm(5))).has_min());
}

TEST_F(SimplifyData, KeepsItsNameInALet) {
  const Var v = tensor::var("v");
  const Stmt store = ir::store(a, {imm(2)}, tensor::select(v < v + 1, imm(1), floor_div(v * 16 + 3, 16)));
  EXPECT_THAT(ir::to_string(simplify(ir::make_stmt<ir::Let>(v, x * y, store))),
              Eq("let v = a[0] * a[1]\na[2] = select(v < v + 1, 1, (v * 16 + 3) // 16)\n"));
}

// --- Random statements.

class RandomData {
 public:
  explicit RandomData(uint64_t seed) : random_(seed) {}

  // for j: out[i] = number, perhaps on a condition, for i = j or for all lanes of a vector.
  Function make() {
    value_ = pick(3) == 0 ? tensor::cast(tensor::kIndex, condition(3)) : number(4);
    const Var j = tensor::var("j");
    const bool vector = pick(3) == 0;
    const Expr at = vector ? tensor::ramp(j * kLanes, imm(1), kLanes) : Expr(j);
    const auto placed = [&](const Expr& e) {
      return tensor::widened(tensor::substitute(e, {{i_.get(), at}}), vector ? kLanes : 1);
    };
    const auto stored = [&](const Expr& e) { return ir::store(out_, {at}, placed(e)); };
    Stmt body = stored(value_);
    is_plain_ = true;
    if (!vector && pick(3) == 0) {
      is_plain_ = false;
      body = ir::make_stmt<ir::If>(placed(condition(2)), body, stored(number(3)));
    }
    if (!vector && pick(3) == 0) {
      const Var named = tensor::var("v");
      const Expr bound = number(2);
      name_ = named;
      is_plain_ = false;
      body = ir::seq({body, stored(tensor::select(condition(2), named, number(3)))});
      body = ir::make_stmt<ir::Let>(named, placed(bound), body);
    }
    body = ir::make_for(j, imm(0), imm(vector ? kSize / kLanes : kSize), ForKind::kSerial, body);
    return {"random", {}, {a_, b_, out_}, body};
  }

  // What make() stores, if it is that alone, and the range of its index.
  const Expr& value() const { return value_; }
  bool is_plain() const { return is_plain_; }
  RangeMap ranges() const { return {{i_.get(), {0, kSize - 1}}}; }

  std::vector<int64_t> numbers() {
    static constexpr int64_t kEnds[] = {
        kLowest, kLowest + 1, kHighest,         kHighest - 1,       -1, 0, 1, 2,
        100,     -7,          int64_t{1} << 62, -(int64_t{1} << 62)};
    std::vector<int64_t> all;
    for (int64_t k = 0; k < kSize; ++k)
      all.push_back(pick(4) == 0 ? static_cast<int64_t>(random_())
                                 : kEnds[pick(static_cast<int64_t>(std::size(kEnds)))]);
    return all;
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t constant() {
    static constexpr int64_t kUsual[] = {1, 2, 3, 4, 5, 7, 8, 12, 16};
    return kUsual[pick(9)];
  }
  // An index must not be divided by zero, and not overflow: both are tried with loads.
  Expr loaded() { return tensor::load(pick(2) == 0 ? a_ : b_, {i_}); }
  Expr leaf() {
    const int64_t kind = pick(6);
    if (kind == 0) return imm(constant() - 3);
    if (kind == 1) return i_;
    return kind == 2 && name_ ? name_ : loaded();
  }

  Expr number(int depth) {
    if (depth == 0 || pick(8) == 0) return leaf();
    const Expr a = number(depth - 1);
    switch (pick(13)) {
      case 0:
        return floor_div(a, constant());
      case 1:
        return floor_mod(a, constant());
      case 2:
        return pick(2) == 0 ? tensor::min(a, number(depth - 1)) : tensor::max(a, number(depth - 1));
      case 3:
        return a - number(depth - 1);
      case 4:
        return a * loaded();
      case 5:
        return pick(2) == 0 ? tensor::abs(a) : -a;
      case 6:
        return tensor::select(condition(depth - 1), a, number(depth - 1));
      case 7: {
        const int64_t c = constant();
        return floor_div(a, c) * c + floor_mod(a, c) * (1 + pick(2));
      }
      case 8: {
        const Expr b = pick(3) == 0 ? loaded() - loaded() + i_ : loaded();
        return pick(2) == 0 ? floor_div(a, b) : floor_mod(a, b);
      }
      case 9: {
        const Expr end = imm(pick(2) == 0 ? kLowest : kHighest);
        return a + (pick(2) == 0 ? tensor::min(loaded(), end) : tensor::max(loaded(), end));
      }
      case 10:
        return tensor::max(tensor::min(a, imm(constant())), imm(-constant()));
      default:
        return a * constant() + number(depth - 1);
    }
  }

  Expr condition(int depth) {
    return random_condition(
        depth, [&](int64_t of) { return pick(of); }, [&](int deep) { return number(deep); },
        [&] { return imm(constant() * 3); });
  }

  std::mt19937_64 random_;
  const Var i_ = tensor::var("i");
  Expr name_;  // of a let around
  Expr value_;
  bool is_plain_ = true;
  const Buffer a_ = tensor::buffer("a", ir::Element::kInt64, {imm(kSize)}),
               b_ = tensor::buffer("b", ir::Element::kInt64, {imm(kSize)}),
               out_ = tensor::buffer("out", ir::Element::kInt64, {imm(kSize)});
};

std::vector<int64_t> results(const Function& function, std::vector<int64_t> a, std::vector<int64_t> b) {
  std::vector<int64_t> out(kSize);
  std::vector<ir::Memory> memory;
  for (std::vector<int64_t>* each : {&a, &b, &out}) memory.push_back({each->data(), kSize * sizeof(int64_t)});
  const absl::Status status = ir::interpret(function, memory);
  EXPECT_TRUE(status.ok()) << status << "\n" << ir::to_string(function);
  return out;
}

TEST(SimplifyRandomData, LeavesTheSameMemoryWithinItsBounds) {
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    RandomData random(seed);
    const Function before = random.make(), after = simplify(before);
    const std::vector<int64_t> a = random.numbers(), b = random.numbers();
    const std::vector<int64_t> want = results(before, a, b);
    ASSERT_EQ(results(after, a, b), want) << "seed " << seed << "\n"
                                          << ir::to_string(before) << ir::to_string(after);
    ASSERT_EQ(ir::to_string(simplify(before)), ir::to_string(after)) << "seed " << seed;
    test::check_round_trip(after);
    if (!random.is_plain()) continue;
    const Interval loose = interval_of(random.value(), random.ranges()),
                   tight = tight_interval_of(random.value(), random.ranges());
    for (const int64_t value : want)
      ASSERT_TRUE(loose.contains(value) && tight.contains(value))
          << "seed " << seed << ": " << to_string(random.value()) << " is " << value;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tf::analysis
