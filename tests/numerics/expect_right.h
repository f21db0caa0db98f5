#pragma once
// Owns: the check of one function, by one way to compute it, as tests make it. Does not know: which are tried.

#include <string>

#include "tests/numerics/error.h"

namespace tf::test {

// Adds a test failure where a result is not within its bound. `mantissas` as in arguments.h.
void expect_right(const ElementFunction& function, Element element, const std::string& engine, int mantissas,
                  Judgement judgement = {});

// A name that GoogleTest takes.
std::string case_name(const ElementFunction& function);

}  // namespace tf::test
