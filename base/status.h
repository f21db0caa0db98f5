#pragma once
// Owns: the two macros that pass a failed absl::Status on to the caller.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TF_RETURN_IF_ERROR(expr)                                                 \
  do {                                                                           \
    if (::absl::Status tf_status_ = (expr); !tf_status_.ok()) return tf_status_; \
  } while (false)

#define TF_STATUS_CONCAT_INNER(a, b) a##b
#define TF_STATUS_CONCAT(a, b) TF_STATUS_CONCAT_INNER(a, b)

// TF_ASSIGN_OR_RETURN(auto x, f()): x is f()'s value, or the function returns f()'s status.
#define TF_ASSIGN_OR_RETURN(lhs, expr)                                 \
  auto TF_STATUS_CONCAT(tf_result_, __LINE__) = (expr);                \
  if (!TF_STATUS_CONCAT(tf_result_, __LINE__).ok())                    \
    return std::move(TF_STATUS_CONCAT(tf_result_, __LINE__)).status(); \
  lhs = *std::move(TF_STATUS_CONCAT(tf_result_, __LINE__))
