// Random programs, interpreted before and after simplification.
#include <random>

#include "compiler/analysis/simplify.h"
#include "compiler/ir/interpret.h"
#include "compiler/ir/print.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::analysis {
namespace {

using ir::Buffer;
using ir::ForKind;
using ir::Function;
using ir::Stmt;
using ir::Var;
using tensor::broadcast;
using tensor::floor_div;
using tensor::floor_mod;
using tensor::imm;
using tensor::ramp;

constexpr int64_t kElements = 64;

// Statements over the loop variables in scope: every index is brought into the buffer or guarded by a
// predicate.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  Function make() {
    Stmt body = block(4);
    return {"random", {}, {data_, counts_}, ir::seq({body})};
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Expr number(int depth) {
    if (depth == 0 || pick(6) == 0) {
      if (vars_.empty() || pick(4) == 0) return imm(pick(20) - 4);
      return vars_[static_cast<size_t>(pick(static_cast<int64_t>(vars_.size())))];
    }
    const Expr a = number(depth - 1);
    switch (pick(8)) {
      case 0:
        return floor_div(a, 1 + pick(8));
      case 1:
        return floor_mod(a, 1 + pick(8));
      case 2:
        return tensor::min(a, number(depth - 1));
      case 3:
        return a - number(depth - 1);
      case 4:
        return tensor::load(counts_, {floor_mod(a, kElements)});
      case 5:
        return tensor::select(condition(depth - 1), a, number(depth - 1));
      default:
        return a * (1 + pick(8)) + number(depth - 1);
    }
  }

  Expr condition(int depth) {
    if (depth > 0 && pick(4) == 0) {
      const Expr a = condition(depth - 1), b = condition(depth - 1);
      return pick(3) == 0   ? tensor::logical_not(a)
             : pick(2) == 0 ? tensor::logical_and(a, b)
                            : tensor::logical_or(a, b);
    }
    const Expr a = number(depth), b = pick(2) == 0 ? imm(pick(30)) : number(depth);
    return pick(4) == 0 ? tensor::equal(a, b) : pick(3) == 0 ? a <= b : a < b;
  }

  Expr value(int depth, int lanes) {
    if (depth == 0) return broadcast(tensor::cast({ir::Element::kFloat32, 1}, number(1)), lanes);
    const Expr index = lanes == 1 ? number(2) : ramp(number(2), imm(pick(3)), lanes);
    const Expr inside =
        tensor::logical_and(broadcast(imm(0), lanes) <= index, index < broadcast(imm(kElements), lanes));
    const Expr element = pick(2) == 0
                             ? tensor::load(data_, {index}, inside)
                             : tensor::load(data_, {floor_mod(index, broadcast(imm(kElements), lanes))});
    return pick(2) == 0 ? element + value(depth - 1, lanes) : tensor::min(element, value(depth - 1, lanes));
  }

  Stmt store() {
    if (pick(4) == 0) return ir::store(counts_, {floor_mod(number(2), kElements)}, floor_mod(number(3), 50));
    const int lanes = pick(2) == 0 ? 1 : 4;
    const Expr index = lanes == 1 ? number(3) : ramp(number(2), imm(1 + pick(2)), lanes);
    const Expr inside =
        tensor::logical_and(broadcast(imm(0), lanes) <= index, index < broadcast(imm(kElements), lanes));
    return ir::store(data_, {index}, value(2, lanes), inside);
  }

  Stmt block(int depth) {
    if (depth == 0) return store();
    switch (pick(6)) {
      case 0:
        return store();
      case 1: {
        std::vector<Stmt> stmts;
        for (int64_t n = pick(4); n > 0; --n) stmts.push_back(block(depth - 1));
        return ir::seq(std::move(stmts));
      }
      case 2: {
        const Expr holds = condition(2);
        return ir::make_stmt<ir::If>(holds, block(depth - 1), pick(2) == 0 ? block(depth - 1) : nullptr);
      }
      case 3: {
        const Expr bound = pick(3) == 0 ? number(0) : number(2);
        const Var v = tensor::var("v");
        vars_.push_back(v);
        Stmt body = block(depth - 1);
        vars_.pop_back();
        return ir::make_stmt<ir::Let>(v, bound, body);
      }
      default: {
        const Expr low = pick(3) == 0 ? number(1) : imm(pick(5)),
                   extent = pick(6) == 0 ? number(1) : imm(pick(6));
        const Var v = tensor::var("i");
        vars_.push_back(v);
        Stmt body = block(depth - 1);
        vars_.pop_back();
        // Twice the same body: a variable is bound again beside its first scope.
        Stmt loop = ir::make_for(v, low, tensor::min(extent, imm(6)), ForKind::kSerial, body);
        if (pick(8) != 0) return loop;
        return ir::seq({ir::make_for(v, imm(pick(9)), imm(1), ForKind::kUnrolled, body), loop});
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Var> vars_;
  Buffer data_ = tensor::buffer("data", ir::Element::kFloat32, {imm(kElements)});
  Buffer counts_ = tensor::buffer("counts", ir::Element::kInt64, {imm(kElements)});
};

TEST(SimplifyRandomProgram, LeavesTheSameMemory) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Function before = RandomProgram(seed).make();
    const Function after = simplify(before);
    const std::vector<std::vector<double>> memory = {
        test::random_values(ir::Element::kFloat32, kElements, seed, -9, 9),
        test::random_values(ir::Element::kInt64, kElements, seed + 1, -5, 40)};
    const auto expected = test::interpret_values(before, memory);
    ASSERT_TRUE(expected.ok()) << "seed " << seed << ": " << expected.status() << "\n"
                               << ir::to_string(before);
    const auto actual = test::interpret_values(after, memory);
    ASSERT_TRUE(actual.ok()) << "seed " << seed << ": " << actual.status() << "\n" << ir::to_string(after);
    ASSERT_EQ(*expected, *actual) << "seed " << seed << "\n" << ir::to_string(before) << ir::to_string(after);
    test::check_round_trip(before);
    test::check_round_trip(after);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tf::analysis
