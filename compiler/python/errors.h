#pragma once
// Owns: the Python exception that a status becomes. Does not know: what failed.

#include <pybind11/pybind11.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/python/gil.h"

namespace tf::python {

// Adds to the module `Error`, a RuntimeError, and `IllegalStep`, a ValueError. Once, before anything else is called.
void add_errors(pybind11::module_& module);

// INVALID_ARGUMENT and OUT_OF_RANGE become ValueError, NOT_FOUND FileNotFoundError, all others Error; its text is the message.
// With the GIL held.
[[noreturn]] void raise(const absl::Status& status);

// Of a schedule that cannot be applied: IllegalStep. Others as raise().
[[noreturn]] void raise_illegal(const absl::Status& status);

inline void check(const absl::Status& status) {
  if (!status.ok()) raise(status);
}
template <typename T>
T value(absl::StatusOr<T> result) {
  check(result.status());
  return *std::move(result);
}
// What the function gives, an absl::StatusOr, while others have the GIL.
template <typename F>
auto without_gil(F function) {
  return value([&] {
    const WithoutGil released;
    return function();
  }());
}

}  // namespace tf::python
