#include "base/printable.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\tc\x7f"), "a?[2Jb???c?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "2J"),
            "a??2J")
      << "the one-byte form of ESC [";
  EXPECT_EQ(printable("Größe é"), "Größe é");
  EXPECT_EQ(printable(std::string(300, 'x')).size(), 200u);
}

TEST(Printable, KeepsTheLinesOfAText) {
  EXPECT_EQ(printable_lines("split\n\tby\x1b[31m 4\n" + std::string(300, 'x')),
            "split\n\tby?[31m 4\n" + std::string(300, 'x'));
}

}  // namespace
}  // namespace tf
