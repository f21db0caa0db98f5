#include "tests/numerics/expect_right.h"

#include <gtest/gtest.h>

#include <cctype>

#include "tests/numerics/engines.h"

namespace tf::test {

void expect_right(const ElementFunction& function, Element element, const std::string& engine, int mantissas,
                  Judgement judgement) {
  SCOPED_TRACE(std::string(tensor::element_name(element)) + " " + engine);
  const Arguments arguments =
      function.operands == 2 ? binary_arguments(element, mantissas) : unary_arguments(element, mantissas);
  const absl::StatusOr<std::vector<double>> results = results_of(function, element, arguments, engine);
  ASSERT_TRUE(results.ok()) << function.name << ": " << results.status();
  const Worst worst = worst_error(function, element, arguments, *results, judgement);
  EXPECT_LE(worst.over, 1) << worst.ulps << " units: " << worst.fault;
}

std::string case_name(const ElementFunction& function) {
  std::string name;
  for (const char c : function.name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += c;
    else
      name += c == '-' ? "minus_" : name.ends_with("_") ? "" : "_";
  return name;
}

}  // namespace tf::test
