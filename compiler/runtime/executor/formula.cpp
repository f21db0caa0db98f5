#include "compiler/runtime/executor/formula.h"

#include "compiler/runtime/model_abi.h"

namespace {

bool is_push(int64_t operation) {
  return operation == TF_CODE_NUMBER || operation == TF_CODE_DIM;
}

// Towards minus infinity, which C++ does not do; by 0 it is 0.
bool floor_divide(int64_t dividend, int64_t divisor, int64_t* quotient, int64_t* remainder) {
  *quotient = *remainder = 0;
  if (divisor == 0) return true;
  if (divisor == -1) return !__builtin_sub_overflow(int64_t{0}, dividend, quotient);
  *quotient = dividend / divisor;
  *remainder = dividend % divisor;
  if (*remainder != 0 && (*remainder < 0) != (divisor < 0)) {
    --*quotient;
    *remainder += divisor;
  }
  return true;
}

bool apply(int64_t operation, int64_t a, int64_t b, int64_t* result) {
  int64_t unused = 0;
  switch (operation) {
    case TF_CODE_ADD:
      return !__builtin_add_overflow(a, b, result);
    case TF_CODE_SUB:
      return !__builtin_sub_overflow(a, b, result);
    case TF_CODE_MUL:
      return !__builtin_mul_overflow(a, b, result);
    case TF_CODE_FLOOR_DIV:
      return floor_divide(a, b, result, &unused);
    case TF_CODE_FLOOR_MOD:
      floor_divide(a, b, &unused, result);
      return true;
    case TF_CODE_MIN:
      *result = a < b ? a : b;
      return true;
    case TF_CODE_MAX:
      *result = a < b ? b : a;
      return true;
  }
  return false;
}

}  // namespace

bool tf_code_valid(const int64_t* code, uint64_t count, uint64_t dim_count) {
  uint64_t depth = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (is_push(code[i])) {
      const bool is_dim = code[i] == TF_CODE_DIM;
      if (++i == count || ++depth > TF_FORMULA_DEPTH) return false;
      if (is_dim && (code[i] < 0 || static_cast<uint64_t>(code[i]) >= dim_count)) return false;
      continue;
    }
    if (code[i] < TF_CODE_ADD || code[i] > TF_CODE_MAX || depth < 2) return false;
    --depth;
  }
  return depth == 1;
}

bool tf_code_value(const int64_t* code, uint64_t count, const int64_t* dims, int64_t* value) {
  int64_t stack[TF_FORMULA_DEPTH] = {};
  uint64_t depth = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (is_push(code[i])) {
      const bool is_dim = code[i] == TF_CODE_DIM;
      const int64_t operand = code[++i];
      stack[depth++] = is_dim ? dims[operand] : operand;
      continue;
    }
    --depth;
    if (!apply(code[i], stack[depth - 1], stack[depth], &stack[depth - 1])) return false;
  }
  *value = stack[0];
  return true;
}
