#include "base/text/printable.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\tc\x7f"), "a?[2Jb???c?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "2J"),
            "a?2J")
      << "the one-character form of ESC [";
  EXPECT_EQ(printable("Größe é"), "Größe é");
  EXPECT_EQ(printable(std::string(300, 'x')).size(), 200u);
}

TEST(Printable, LeavesNothingThatEndsALineOrTurnsItAround) {
  for (const char* text : {"\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(printable(std::string("a") + text + "b"), "a?b") << text;
    EXPECT_EQ(printable_lines(std::string("a\n") + text + "b"), "a\n?b") << text;
  }
  for (const char* text : {"\u2027", "\u202f", "\u2065", "\u206a", "\u05d0"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, LeavesNothingThatIsNotUtf8) {
  EXPECT_EQ(printable("a\x9b\xff"
                      "b"),
            "a??b")
      << "bytes that begin nothing";
  EXPECT_EQ(printable("\xc3"), "?") << "a character that ends early";
  EXPECT_EQ(printable("\xc3"
                      "a"),
            "?a");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "longer than it need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(printable("\xf0\x9f\x98\x80 \xe2\x82\xac"), "\xf0\x9f\x98\x80 \xe2\x82\xac");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable(std::string(199, 'x') + "\xc3\xa9"), std::string(199, 'x'));
  EXPECT_EQ(printable(std::string(198, 'x') + "\xc3\xa9"), std::string(198, 'x') + "\xc3\xa9");
}

TEST(Printable, KeepsTheLinesOfAText) {
  EXPECT_EQ(printable_lines("split\n\tby\x1b[31m 4\n" + std::string(300, 'x')),
            "split\n\tby?[31m 4\n" + std::string(300, 'x'));
}

}  // namespace
}  // namespace tf
