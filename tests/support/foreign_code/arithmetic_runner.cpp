// Standard input: pairs of dividend and divisor; standard output: an Arithmetic of each. It is cross-compiled
// together with the arithmetic of models.
#include <stdio.h>

#include "tests/support/foreign_code/arithmetic.h"

int main() {
  int64_t pair[2];
  while (fread(pair, sizeof pair, 1, stdin) == 1) {
    const tf::support::Arithmetic result = tf::support::arithmetic_of(pair[0], pair[1]);
    fwrite(&result, sizeof result, 1, stdout);
  }
  return fflush(stdout) == 0 ? 0 : 3;
}
