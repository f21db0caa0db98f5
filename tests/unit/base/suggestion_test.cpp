#include "base/cli/suggestion.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(Synonyms, ContainsEachOfItsWordsAndNoPartOfOne) {
  constexpr Synonyms kBuild{"build", "compile make convert"};
  for (const char* word : {"compile", "make", "convert"}) EXPECT_TRUE(kBuild.contains(word)) << word;
  for (const char* word : {"", "mak", "makes", "compile make", "build"})
    EXPECT_FALSE(kBuild.contains(word)) << word;
}

}  // namespace
}  // namespace tf
