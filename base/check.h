#pragma once
// Owns: CHECK, the assertion that means "this is our bug". User mistakes are absl::Status values instead.

#include <sstream>
#include <string_view>

namespace tf::internal {

// Collects the message of a failed CHECK and aborts in its destructor.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives the streaming form type void, so that it can stand in a conditional expression.
struct Voidify {
  void operator&&(const std::ostream&) const {}
};

}  // namespace tf::internal

#define TF_CHECK(condition) \
  (condition)               \
      ? (void)0             \
      : ::tf::internal::Voidify() && ::tf::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#define TF_UNREACHABLE() ::tf::internal::CheckFailure(__FILE__, __LINE__, "unreachable").stream()
