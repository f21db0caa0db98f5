#include "base/digest.h"

#include <string>
#include <utility>

namespace tf {
namespace {

TEST(Digest, IsThatOfTheStandardsExamples) {
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, OfPartsIsThatOfTheWhole) {
  const std::string text(1000, 'x');
  for (const size_t part : {1, 63, 64, 65, 1000}) {
    Sha256 parts;
    for (size_t at = 0; at < text.size(); at += part) parts.add(std::string_view(text).substr(at, part));
    parts.add("");
    EXPECT_EQ(parts.finish(), sha256(text)) << part;
  }
  EXPECT_EQ(Sha256().finish(), sha256(""));
}

TEST(Digest, GoesOnWhereItWasWhenItIsMoved) {
  Sha256 first;
  first.add("a");
  Sha256 second = std::move(first);
  second.add("bc");
  EXPECT_EQ(second.finish(), sha256("abc"));
}

}  // namespace
}  // namespace tf
