// What GCC calls where an armv7 processor has no instruction, for a model.so, which needs libc alone: the
// run-time ABI for the Arm architecture (IHI 0043), 4.2 and 4.1.2. The agent's workers link it too, before
// libgcc.
#include <stdint.h>

namespace {

// Bit by bit: a model divides when it is opened and once a loop, not in it.
template <typename Unsigned>
Unsigned divide(Unsigned dividend, Unsigned divisor, Unsigned* remainder) {
  if (divisor == 0) __builtin_trap();
  const auto leading_zeros = [](Unsigned value) {
    return sizeof value == 8 ? __builtin_clzll(value) : __builtin_clz(static_cast<uint32_t>(value));
  };
  Unsigned quotient = 0;
  if (dividend >= divisor) {
    for (int shift = leading_zeros(divisor) - leading_zeros(dividend); shift >= 0; --shift) {
      const Unsigned part = divisor << shift;
      if (dividend < part) continue;
      dividend -= part;
      quotient |= Unsigned{1} << shift;
    }
  }
  *remainder = dividend;
  return quotient;
}

// Towards zero; the remainder has the sign of the dividend. Without a sign, so that nothing overflows.
template <typename Unsigned>
Unsigned divide_signed(Unsigned dividend, Unsigned divisor, Unsigned* remainder) {
  constexpr int kSign = 8 * sizeof(Unsigned) - 1;
  const bool minus = dividend >> kSign, other_minus = divisor >> kSign;
  const Unsigned quotient =
      divide<Unsigned>(minus ? -dividend : dividend, other_minus ? -divisor : divisor, remainder);
  if (minus) *remainder = -*remainder;
  return minus != other_minus ? -quotient : quotient;
}

// As r0 and r1.
uint64_t both(uint32_t quotient, uint32_t remainder) {
  return uint64_t{remainder} << 32 | quotient;
}

}  // namespace

// Called below by name.
extern "C" {

uint64_t tf_divide_u64(uint64_t dividend, uint64_t divisor, uint64_t* remainder) {
  return divide(dividend, divisor, remainder);
}

uint64_t tf_divide_s64(uint64_t dividend, uint64_t divisor, uint64_t* remainder) {
  return divide_signed(dividend, divisor, remainder);
}

uint32_t __aeabi_uidiv(uint32_t dividend, uint32_t divisor) {
  uint32_t remainder;
  return divide(dividend, divisor, &remainder);
}

uint32_t __aeabi_idiv(uint32_t dividend, uint32_t divisor) {
  uint32_t remainder;
  return divide_signed(dividend, divisor, &remainder);
}

uint64_t __aeabi_uidivmod(uint32_t dividend, uint32_t divisor) {
  uint32_t remainder;
  const uint32_t quotient = divide(dividend, divisor, &remainder);
  return both(quotient, remainder);
}

uint64_t __aeabi_idivmod(uint32_t dividend, uint32_t divisor) {
  uint32_t remainder;
  const uint32_t quotient = divide_signed(dividend, divisor, &remainder);
  return both(quotient, remainder);
}

// The quotient in r0 and r1, the remainder in r2 and r3, which no C function returns: `divide` leaves it on
// the stack, by its fifth word of arguments.
#define TF_WITH_REMAINDER(divide) \
  asm("push {r4, lr}\n"           \
      "sub sp, sp, #16\n"         \
      "add r4, sp, #8\n"          \
      "str r4, [sp]\n"            \
      "bl " #divide               \
      "\n"                        \
      "ldrd r2, r3, [sp, #8]\n"   \
      "add sp, sp, #16\n"         \
      "pop {r4, pc}\n")

__attribute__((naked)) void __aeabi_uldivmod() {
  TF_WITH_REMAINDER(tf_divide_u64);
}

__attribute__((naked)) void __aeabi_ldivmod() {
  TF_WITH_REMAINDER(tf_divide_s64);
}

// The halves are exact, and so is the first one's product: only the sum rounds. What has this name takes and
// returns numbers as a processor without floating-point registers would. Weak, because libgcc's own has other
// functions in the same object: a program of ours that uses those gets libgcc's.
__attribute__((pcs("aapcs"), weak)) double __aeabi_l2d(int64_t value) {
  return static_cast<double>(static_cast<int32_t>(value >> 32)) * 0x1p32 +
         static_cast<double>(static_cast<uint32_t>(value));
}

}  // extern "C"
