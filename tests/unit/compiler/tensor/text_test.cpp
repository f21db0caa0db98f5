#include "compiler/tensor/text.h"

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/unit/compiler/tensor/f32.h"

namespace tf::tensor {
namespace {

constexpr Type kBool{Element::kBool, 1};

// The variables and buffers that the tests' expressions use, by the names that they print with.
struct World {
  Var i = var("i"), j = var("j"), x = var("x", kF32), y = var("y", kF32), p = var("p", kBool);
  Buffer a = buffer("a", Element::kFloat32, {imm(8), imm(8)});
  Buffer s = buffer("s", Element::kFloat32, {});
  Scoped scope() const { return {{{"i", i}, {"j", j}, {"x", x}, {"y", y}, {"p", p}}, {{"a", a}, {"s", s}}}; }
};

absl::StatusOr<Expr> parse(const std::string& text, const Scoped& scope) {
  Reader reader(text);
  auto expr = reader.expr(scope);
  if (expr.ok() && reader.peek().kind != TokenKind::kEnd) return reader.error("expected the end");
  return expr;
}

void expect_round_trip(const Expr& expr, const Scoped& scope) {
  const std::string text = to_string(expr);
  const auto back = parse(text, scope);
  ASSERT_TRUE(back.ok()) << text << ": " << back.status();
  EXPECT_TRUE(structurally_equal(*back, expr)) << text << " read back as " << to_string(*back);
}

TEST(Text, OperatorsPrintWithTheFewestParentheses) {
  World w;
  EXPECT_EQ(to_string(w.i + w.j * 2 - (w.i - w.j)), "i + j * 2 - (i - j)");
  EXPECT_EQ(to_string(floor_div(w.i + 1, 2) * 3), "(i + 1) // 2 * 3");
  EXPECT_EQ(to_string(logical_or(logical_and(imm(0) <= w.i, w.i < imm(8)), w.p)), "0 <= i && i < 8 || p");
  EXPECT_EQ(to_string(-(w.x * w.y)), "-(x * y)");
  EXPECT_EQ(to_string(load(w.a, {w.i, w.j + 1}, w.p)), "(a[i, j + 1] if p)");
  EXPECT_EQ(to_string(select(w.p, w.x, imm(kF32, 0.5))), "select(p, x, 0.5f32)");
}

TEST(Text, LiteralsReadBackBitForBit) {
  World w;
  const double inf = std::numeric_limits<double>::infinity();
  for (Element element : {Element::kFloat16, Element::kBFloat16, Element::kFloat32, Element::kFloat64})
    for (double value : {0.0, -0.0, 1.0, 0.1, -3.25e-7, 1e30, 5e-324, 1e-45, inf, -inf, 0.0 / 0.0 * inf})
      expect_round_trip(imm({element, 1}, value), w.scope());
  for (Element element : {Element::kInt8, Element::kUInt8, Element::kInt32, Element::kInt64, Element::kBool})
    for (int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{200}})
      expect_round_trip(imm({element, 1}, static_cast<double>(value)), w.scope());
  expect_round_trip(make<IntImm>(kIndex, std::numeric_limits<int64_t>::min()), w.scope());
}

TEST(Text, NodesReadBackUnfolded) {
  World w;
  expect_round_trip(make<Binary>(BinaryOp::kAdd, imm(1), imm(2)), w.scope());
  expect_round_trip(make<Unary>(UnaryOp::kNeg, imm(3)), w.scope());
  expect_round_trip(make<Unary>(UnaryOp::kNeg, imm(kF32, -std::numeric_limits<double>::infinity())),
                    w.scope());
  expect_round_trip(make<Binary>(BinaryOp::kSub, w.i, imm(-3)), w.scope());
  expect_round_trip(load(w.s, {}), w.scope());
}

TEST(Text, VectorsReadBack) {
  World w;
  const Expr lanes = ramp(w.i * 4, imm(1), 4);
  const Expr guarded = load(w.a, {w.i, lanes}, lanes < imm(7));
  expect_round_trip(guarded * broadcast(w.x, 4), w.scope());
  expect_round_trip(call(Intrinsic::kReduceAdd, {guarded}), w.scope());
  expect_round_trip(cast({Element::kInt32, 1}, guarded), w.scope());
  expect_round_trip(call(Intrinsic::kFma, {guarded, guarded, guarded}), w.scope());
}

// A random scalar expression of the wanted element.
class Generator {
 public:
  Generator(const World& world, uint32_t seed) : w_(world), random_(seed) {}
  Expr make_float(int depth) {
    if (depth == 0) return pick(2) ? Expr(w_.x) : imm(kF32, pick(1000) / 7.0 - 60);
    const Expr a = make_float(depth - 1), b = make_float(depth - 1);
    switch (pick(10)) {
      case 0:
        return make<Binary>(BinaryOp::kSub, a, b);
      case 1:
        return make<Binary>(BinaryOp::kDiv, a, b);
      case 2:
        return make<Binary>(BinaryOp::kMax, a, b);
      case 3:
        return make<Unary>(UnaryOp::kNeg, a);
      case 4:
        return make<Unary>(UnaryOp::kAbs, a);
      case 5:
        return make<Select>(make_bool(depth - 1), a, b);
      case 6:
        return make<Call>(Intrinsic::kPow, std::vector<Expr>{a, b});
      case 7:
        return make<Load>(w_.a, std::vector<Expr>{make_int(depth - 1), make_int(depth - 1)},
                          pick(2) ? make_bool(depth - 1) : Expr());
      case 8:
        return make<Cast>(kF32, make_int(depth - 1));
      default:
        return make<Binary>(BinaryOp::kMul, a, b);
    }
  }
  Expr make_int(int depth) {
    if (depth == 0) return pick(2) ? Expr(w_.i) : imm(static_cast<int64_t>(pick(100)) - 50);
    static constexpr BinaryOp kOps[] = {BinaryOp::kAdd,      BinaryOp::kSub,      BinaryOp::kMul,
                                        BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kMin};
    if (pick(5) == 0) return make<Unary>(UnaryOp::kNeg, make_int(depth - 1));
    return make<Binary>(kOps[pick(6)], make_int(depth - 1), make_int(depth - 1));
  }
  Expr make_bool(int depth) {
    if (depth == 0) return pick(2) ? Expr(w_.p) : imm(kBool, pick(2));
    static constexpr BinaryOp kOps[] = {BinaryOp::kEq, BinaryOp::kNe, BinaryOp::kLt, BinaryOp::kLe};
    switch (pick(4)) {
      case 0:
        return make<Binary>(BinaryOp::kAnd, make_bool(depth - 1), make_bool(depth - 1));
      case 1:
        return make<Binary>(BinaryOp::kOr, make_bool(depth - 1), make_bool(depth - 1));
      case 2:
        return make<Unary>(UnaryOp::kNot, make_bool(depth - 1));
      default:
        return make<Binary>(kOps[pick(4)], make_float(depth - 1), make_float(depth - 1));
    }
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  const World& w_;
  std::mt19937 random_;
};

TEST(Text, RandomExpressionsReadBack) {
  World w;
  for (uint32_t seed = 0; seed < 500; ++seed) expect_round_trip(Generator(w, seed).make_float(5), w.scope());
}

TEST(Text, CollidingNamesAreMadeUnique) {
  const Expr first = var("x"), second = var("x"), third = var("x y"), fourth = var("inf");
  EXPECT_EQ(to_string(first + second + third + fourth), "x + x_1 + x_y + inf_");
}

TEST(Text, ErrorsNameLineAndColumn) {
  World w;
  const std::pair<const char*, const char*> cases[] = {
      {"i +\n  k", "line 2, column 3: there is no variable 'k'"},
      {"i + x", "line 1, column 3: '+' cannot take operands of types i64 and f32"},
      {"i / j", "line 1, column 3: '/' cannot take operands"},
      {"(i + j", "line 1, column 7: expected ')', found the end of the text"},
      {"b[i]", "there is no buffer 'b'"},
      {"a[i, j, i]", "'a' takes 2 indices, not 3"},
      {"a[x, i]", "an index of 'a' cannot be f32"},
      {"cos(i)", "'cos' cannot be applied to (i64)"},
      {"cosine(x)", "there is no function 'cosine'"},
      {"select(x, x, x)", "'select' cannot be applied"},
      {"cast<int>(x)", "expected an element type"},
      {"99999999999999999999", "does not fit 64 bits"},
      {"300u8", "not a value of its type"},
      {"0.5", "write a float as in 0.5f32"},
      {"1i31", "is not an element type"},
      {"ramp(i, 1, 1)", "lanes from 2"},
      {"(i if p)", "'if' guards a load"},
      {"\"abc", "expected an expression, found '\"'"},
      {"", "expected an expression, found the end of the text"},
      {"i < j < i", "cannot take operands"},
  };
  for (const auto& [text, message] : cases) {
    const auto parsed = parse(text, w.scope());
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr(message)) << text;
    EXPECT_THAT(std::string(parsed.status().message()), testing::StartsWith("line ")) << text;
  }
}

TEST(Text, HostileDepthIsAnErrorAndNotACrash) {
  World w;
  std::string parens(100000, '('), minuses(100000, '-'), chain = "i", nots(100000, '!');
  for (int k = 0; k < 100000; ++k) chain += "+i";
  std::string mixed;
  for (int k = 0; k < 300; ++k) {
    mixed += "(i";
    for (int n = 0; n < 300; ++n) mixed += "+i";
    mixed += "+";
  }
  for (const std::string& text : {parens, minuses + "i", chain, nots + "p", mixed})
    EXPECT_THAT(std::string(parse(text, w.scope()).status().message()),
                testing::HasSubstr("nests too deeply"));
}

TEST(Text, EveryPrefixOfAValidTextIsHandled) {
  World w;
  const std::string text = "select(a[i, j // 2] < -inf f32 || !p, (a[i, j] if p), pow(x, 2.5e-3f32)) # done";
  ASSERT_TRUE(parse(text, w.scope()).ok());
  for (size_t n = 0; n < text.size(); ++n) {
    const auto parsed = parse(text.substr(0, n), w.scope());
    if (parsed.ok()) continue;
    EXPECT_THAT(std::string(parsed.status().message()), testing::StartsWith("line 1")) << n;
  }
}

TEST(Reader, StringsAndSymbolsAreTokens) {
  Reader reader("name.outer -> \"a\\\"b\\n\" += 1..8 # rest\n;");
  EXPECT_EQ(*reader.expect_name(), "name.outer");
  EXPECT_TRUE(reader.accept("->"));
  EXPECT_EQ(reader.peek().kind, TokenKind::kString);
  EXPECT_EQ(reader.next().text, "a\"b\n");
  EXPECT_TRUE(reader.expect("+=").ok());
  EXPECT_EQ(*reader.expect_int(), 1);
  EXPECT_TRUE(reader.accept(".."));
  EXPECT_EQ(*reader.expect_int(), 8);
  EXPECT_TRUE(reader.accept(";"));
  EXPECT_EQ(reader.peek().kind, TokenKind::kEnd);
}

}  // namespace
}  // namespace tf::tensor
