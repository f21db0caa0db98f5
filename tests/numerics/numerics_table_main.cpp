// Prints the errors of every element-wise function over millions of arguments, as the table of
// docs/reference/numerics.md:  numerics_table [--engine ENGINE] [--mantissas N]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"
#include "tests/numerics/engines.h"
#include "tests/numerics/error.h"

namespace tf::test {
namespace {

std::string cell(const ElementFunction& function, Element element, const std::string& engine, int mantissas) {
  const Arguments arguments =
      function.operands == 2 ? binary_arguments(element, mantissas) : unary_arguments(element, mantissas);
  const auto results = results_of(function, element, arguments, engine);
  if (!results.ok()) return std::string(results.status().message());
  const Worst worst = worst_error(function, element, arguments, *results);
  if (worst.over > 1) std::fprintf(stderr, "%.3g units: %s\n", worst.ulps, worst.fault.c_str());
  // What cancels has no bound in units of the result; the table tells the part of its bound instead.
  if (function.largest_term) return absl::StrFormat("%.2f of the bound", worst.over);
  return absl::StrFormat("%.2f", worst.ulps);
}

int run(const std::string& engine, int mantissas) {
  std::printf("| function | float32 | float64 | float16 | bfloat16 |\n|---|---|---|---|---|\n");
  for (const ElementFunction& function : element_functions()) {
    std::printf("| %s |", function.name.c_str());
    for (const Element element :
         {Element::kFloat32, Element::kFloat64, Element::kFloat16, Element::kBFloat16})
      std::printf(" %s |", cell(function, element, engine, mantissas).c_str());
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tf::test

int main(int argc, char** argv) {
  std::string engine = "host";
  int mantissas = 2000;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (has_value && std::strcmp(argv[i], "--engine") == 0) {
      engine = argv[++i];
    } else if (has_value && std::strcmp(argv[i], "--mantissas") == 0) {
      mantissas = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: numerics_table [--engine folded|reference|interpreted|TARGET] [--mantissas N]\n");
      return 2;
    }
  }
  return tf::test::run(engine, mantissas);
}
