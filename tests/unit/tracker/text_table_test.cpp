#include "tracker/text_table.h"

namespace tf::tracker {
namespace {

const std::vector<TableColumn> kColumns = {
    {"SLOT"}, {"HOLDER", Cells::kShortened}, {"MODEL", Cells::kShortened}};
const std::vector<std::vector<std::string>> kRows = {
    {"box/0", "ada:a-tuner", "An Extraordinarily Fast Processor"}, {"box/1", "-", "A Slow One"}};

TEST(TextTable, IsWholeWhereNobodySaysHowWideItMayBe) {
  EXPECT_EQ(text_table(kColumns, kRows),
            "SLOT   HOLDER       MODEL\n"
            "box/0  ada:a-tuner  An Extraordinarily Fast Processor\n"
            "box/1  -            A Slow One\n");
  EXPECT_EQ(text_table(kColumns, kRows, 53), text_table(kColumns, kRows)) << "it just fits";
}

TEST(TextTable, MovesItsColumnsTogetherBeforeItShortensAny) {
  EXPECT_EQ(text_table(kColumns, kRows, 52),
            "SLOT  HOLDER      MODEL\n"
            "box/0 ada:a-tuner An Extraordinarily Fast Processor\n"
            "box/1 -           A Slow One\n");
}

TEST(TextTable, ShortensTheLongestFreeTextToTheTerminal) {
  EXPECT_EQ(text_table(kColumns, kRows, 30),
            "SLOT  HOLDER      MODEL\n"
            "box/0 ada:a-tuner An Extraord…\n"
            "box/1 -           A Slow One\n");
  EXPECT_EQ(text_table(kColumns, kRows, 23),
            "SLOT  HOLDER   MODEL\n"
            "box/0 ada:a-t… An Extr…\n"
            "box/1 -        A Slow …\n")
      << "no further";
}

TEST(TextTable, IsWholeWhereItWouldBeTooWideAllTheSame) {
  for (const size_t width : {size_t{22}, size_t{10}, size_t{1}}) {
    EXPECT_EQ(text_table(kColumns, kRows, width), text_table(kColumns, kRows)) << width;
  }
}

TEST(TextTable, CountsCharactersAndCutsNone) {
  EXPECT_EQ(text_table({{"A", Cells::kShortened}, {"B"}}, {{"ÄÖÜäöüßÄÖÜ", "b"}, {"a", "b"}}, 11),
            "A         B\n"
            "ÄÖÜäöüßÄ… b\n"
            "a         b\n");
}

}  // namespace
}  // namespace tf::tracker
