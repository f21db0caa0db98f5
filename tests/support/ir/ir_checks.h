#pragma once
// Checks that every test which makes loop IR runs on it.

#include "compiler/ir/verify.h"

namespace tf::test {

// Fails the test unless the function is legal, keeps the promises, and prints to a text that parses to an
// equal function.
void check_round_trip(const ir::Function& function, const ir::Promises& promises = {});

}  // namespace tf::test
