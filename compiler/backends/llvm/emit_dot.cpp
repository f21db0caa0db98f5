// Dot products of narrow elements: the target's instruction where it has one for that many lanes, else parts.

#include "compiler/backends/llvm/emitter.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tf::backends {
namespace {

using tensor::Element;

int lanes_of(llvm::Value* v) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return type ? static_cast<int>(type->getNumElements()) : 1;
}

// x86's instructions for unsigned times signed bytes and for bf16; kNone where the target has none for so
// many lanes.
constexpr llvm::Intrinsic::ID kNone = llvm::Intrinsic::not_intrinsic;

llvm::Intrinsic::ID bytes_instruction(const target::Target& target, int lanes) {
  const bool wide = target.has("avx512vnni");
  if (lanes == 16 && wide) return llvm::Intrinsic::x86_avx512_vpdpbusd_512;
  if (!(wide && target.has("avx512vl")) && !target.has("avxvnni")) return kNone;
  if (lanes == 8) return llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  if (lanes == 4) return llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return kNone;
}

llvm::Intrinsic::ID bfloat_instruction(const target::Target& target, int lanes) {
  if (!target.has("avx512bf16")) return kNone;
  switch (lanes) {
    case 16:
      return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512;
    case 8:
      return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256;
    case 4:
      return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
    default:
      return kNone;
  }
}

// Every lane takes the one group: its bits as a word, in all lanes.
llvm::Value* to_words(llvm::IRBuilder<>& b, llvm::Value* narrow, int group_bits, int lanes) {
  const int words =
      lanes_of(narrow) * static_cast<int>(narrow->getType()->getScalarSizeInBits()) / group_bits;
  llvm::Type* word = b.getIntNTy(static_cast<unsigned>(group_bits));
  if (words == lanes)
    return b.CreateBitCast(narrow, llvm::FixedVectorType::get(word, static_cast<unsigned>(lanes)));
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), b.CreateBitCast(narrow, word));
}

llvm::Constant* splat_byte(llvm::Type* words, uint8_t byte) {
  return llvm::ConstantInt::get(words, 0x01010101u * uint32_t{byte});
}

}  // namespace

llvm::Value* Emitter::dot(const ir::Call& e) {
  const Element element = e.args[1]->type().element;
  const int lanes = e.type().lanes, group = e.args[2]->type().lanes / lanes;
  llvm::Value *c = value(e.args[0]), *a = value(e.args[1]), *b = value(e.args[2]);
  auto is_signed = [&](int i) { return e.args[static_cast<size_t>(i)]->type().element == Element::kInt8; };
  if (element == Element::kBFloat16 && group == 2 && (is_x86() || target_.arch == target::Arch::kAArch64)) {
    const bool arm = !is_x86() && target_.has("bf16") && lanes == 4;
    const auto id = is_x86() ? bfloat_instruction(target_, lanes) : kNone;
    if (id == kNone && !arm) return dot_by_parts(e, c, a, b, group);
    llvm::Type* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(2 * lanes));
    auto operand = [&](llvm::Value* v) {
      return b_.CreateBitCast(to_words(b_, to_memory(element, v), 32, lanes), pairs);
    };
    if (arm)
      return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_bfdot, {c->getType(), pairs},
                                {c, operand(a), operand(b)});
    return b_.CreateIntrinsic(id, {}, {c, operand(a), operand(b)});
  }
  if (group == 4 && !tensor::is_float(element)) {
    if (llvm::Value* v = dot_bytes(c, a, b, is_signed(1), is_signed(2))) return v;
  }
  return dot_by_parts(e, c, a, b, group);
}

// Null where the target has no instruction. x86 multiplies unsigned by signed bytes: for two signed operands
// a is moved by 128, which adds 128 times the sum of b; rows that share b share that sum.
llvm::Value* Emitter::dot_bytes(llvm::Value* c, llvm::Value* a, llvm::Value* b, bool a_signed,
                                bool b_signed) {
  const int lanes = lanes_of(c);
  if (target_.arch == target::Arch::kAArch64) {
    if (lanes != 4 || !target_.has("dotprod") || (a_signed != b_signed && !target_.has("i8mm")))
      return nullptr;
    auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
    llvm::Value* x = b_.CreateBitCast(to_words(b_, a, 32, lanes), bytes);
    llvm::Value* y = b_.CreateBitCast(to_words(b_, b, 32, lanes), bytes);
    if (a_signed && !b_signed) std::swap(x, y);
    const auto id = a_signed != b_signed ? llvm::Intrinsic::aarch64_neon_usdot
                    : a_signed           ? llvm::Intrinsic::aarch64_neon_sdot
                                         : llvm::Intrinsic::aarch64_neon_udot;
    return b_.CreateIntrinsic(id, {c->getType(), bytes}, {c, x, y});
  }
  const llvm::Intrinsic::ID id = is_x86() ? bytes_instruction(target_, lanes) : kNone;
  if (id == kNone) return nullptr;
  llvm::Value *x = to_words(b_, a, 32, lanes), *y = to_words(b_, b, 32, lanes);
  llvm::Type* words = x->getType();
  auto products = [&](llvm::Value* sum, llvm::Value* u, llvm::Value* s) {
    return b_.CreateIntrinsic(id, {}, {sum, u, s});
  };
  llvm::Value* zero = llvm::Constant::getNullValue(words);
  llvm::Constant* sign = splat_byte(words, 0x80);
  if (!a_signed && b_signed) return products(c, x, y);
  if (a_signed && !b_signed) return products(c, y, x);
  if (a_signed) return b_.CreateSub(products(c, b_.CreateXor(x, sign), y), products(zero, sign, y));
  llvm::Value* moved = b_.CreateShl(products(zero, x, splat_byte(words, 1)), 7);
  return b_.CreateAdd(products(c, x, b_.CreateXor(y, sign)), moved);
}

// The k-th element of every group, for each k: as many multiply-adds of wide vectors.
llvm::Value* Emitter::dot_by_parts(const ir::Call& e, llvm::Value* c, llvm::Value* a, llvm::Value* b,
                                   int group) {
  const int lanes = lanes_of(c);
  const Element sum = e.type().element;
  auto part = [&](llvm::Value* v, const ir::Expr& arg, int k) {
    std::vector<int> pick;
    for (int lane = 0; lane < lanes; ++lane) pick.push_back((lanes_of(v) == group ? 0 : lane * group) + k);
    llvm::Value* narrow = b_.CreateShuffleVector(v, pick);
    if (tensor::is_float(sum)) return narrow;
    return arg->type().element == Element::kInt8 ? b_.CreateSExt(narrow, c->getType())
                                                 : b_.CreateZExt(narrow, c->getType());
  };
  for (int k = 0; k < group; ++k) {
    llvm::Value *x = part(a, e.args[1], k), *y = part(b, e.args[2], k);
    c = tensor::is_float(sum) ? b_.CreateFAdd(b_.CreateFMul(x, y), c) : b_.CreateAdd(b_.CreateMul(x, y), c);
  }
  return c;
}

}  // namespace tf::backends
