#include "tests/support/ir/ir_checks.h"

#include <gtest/gtest.h>

#include "compiler/ir/equal.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"

namespace tf::test {

void check_round_trip(const ir::Function& function, const ir::Promises& promises) {
  const std::string text = ir::to_string(function);
  const absl::Status legal = ir::verify(function, promises);
  EXPECT_TRUE(legal.ok()) << legal << "\n" << text;
  const absl::StatusOr<ir::Function> parsed = ir::parse_function(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_TRUE(ir::equal(function, *parsed)) << text << "\nparsed as\n" << ir::to_string(*parsed);
  EXPECT_EQ(ir::hash(function), ir::hash(*parsed)) << text;
}

}  // namespace tf::test
