#pragma once
// Owns: how far results are from exact ones. Does not know: where they come from.

#include <string>
#include <vector>

#include "tests/numerics/arguments.h"
#include "tests/numerics/functions.h"

namespace tf::test {

struct Worst {
  double ulps = 0;    // the largest error; infinite for a wrong NaN, infinity or sign
  std::string place;  // "f(x) is y, not z" there
  double over = 0;    // the largest error as a part of what is allowed: above 1 is a fault
  std::string fault;  // the place of that
};

struct Judgement {
  // Denormal operands and results may count as zero.
  bool flushes = false;
};

// Of the function's results for the arguments, in order.
Worst worst_error(const ElementFunction& function, Element element, const Arguments& arguments,
                  const std::vector<double>& results, Judgement judgement = {});

}  // namespace tf::test
