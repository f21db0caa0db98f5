#include "base/cli/text_table.h"

namespace tf {
namespace {

const std::vector<TableColumn> kColumns = {
    {"slot"}, {"holder", Cells::kShortened}, {"model", Cells::kShortened}};
const std::vector<std::vector<std::string>> kRows = {
    {"box/0", "ada:a-tuner", "An Extraordinarily Fast Processor"}, {"box/1", "-", "A Slow One"}};

TEST(TextTable, IsWholeWhereNobodySaysHowWideItMayBe) {
  EXPECT_EQ(text_table(kColumns, kRows),
            "slot   holder       model\n"
            "box/0  ada:a-tuner  An Extraordinarily Fast Processor\n"
            "box/1  -            A Slow One\n");
  EXPECT_EQ(text_table(kColumns, kRows, 53), text_table(kColumns, kRows)) << "it just fits";
}

TEST(TextTable, HasNumbersOnTheRight) {
  EXPECT_EQ(text_table({{"op"}, {"threads", Cells::kWhole, Side::kRight}, {"device"}},
                       {{"matmul", "1", "desk"}, {"add", "16", ""}}),
            "op      threads  device\n"
            "matmul        1  desk\n"
            "add          16\n");
}

TEST(TextTable, CutsTheLongestFreeTextToTheTerminal) {
  EXPECT_EQ(text_table(kColumns, kRows, 40),
            "slot   holder       model\n"
            "box/0  ada:a-tuner  An Extraordinarily …\n"
            "box/1  -            A Slow One\n");
  EXPECT_EQ(text_table(kColumns, kRows, 25),
            "slot   holder    model\n"
            "box/0  ada:a-t…  An Extr…\n"
            "box/1  -         A Slow …\n")
      << "no further";
}

TEST(TextTable, LeavesColumnsOutBeforeItCutsTextsShort) {
  const std::vector<TableColumn> columns = {
      {"model", Cells::kShortened}, {"a", Cells::kLeftOut}, {"time"}, {"b", Cells::kLeftOut}};
  const std::vector<std::vector<std::string>> rows = {
      {"An Extraordinarily Fast Processor", "aaaa", "1 ms", "bbbb"}};
  EXPECT_EQ(text_table(columns, rows, 36),
            "model                     a     time\n"
            "An Extraordinarily Fast…  aaaa  1 ms\n");
  EXPECT_EQ(text_table(columns, rows, 32),
            "model                       time\n"
            "An Extraordinarily Fast P…  1 ms\n");
}

TEST(TextTable, LeavesAColumnWithoutTextOutBeforeItCuts) {
  const std::vector<TableColumn> columns = {
      {"model", Cells::kShortened}, {"numerics", Cells::kLeftOut}, {"key", Cells::kLeftOut}};
  const std::vector<std::vector<std::string>> empty = {{"An Extraordinarily Fast Processor", "", "aaaa"}};
  EXPECT_EQ(text_table(columns, empty, 40),
            "model                              key\n"
            "An Extraordinarily Fast Processor  aaaa\n");
  EXPECT_EQ(text_table(columns, empty, 49),
            "model                              numerics  key\n"
            "An Extraordinarily Fast Processor            aaaa\n")
      << "it fits";
}

TEST(TextTable, IsWholeWhereItWouldBeTooWideAllTheSame) {
  for (const size_t width : {size_t{24}, size_t{10}, size_t{1}}) {
    EXPECT_EQ(text_table(kColumns, kRows, width), text_table(kColumns, kRows)) << width;
  }
}

TEST(TextTable, CountsCharactersAndCutsNone) {
  EXPECT_EQ(text_table({{"a", Cells::kShortened}, {"b"}}, {{"ÄÖÜäöüßÄÖÜ", "b"}, {"a", "b"}}, 12),
            "a          b\n"
            "ÄÖÜäöüßÄ…  b\n"
            "a          b\n");
}

TEST(Shortened, EndsWithAnEllipsisWhereSomethingIsLeftOut) {
  EXPECT_EQ(shortened("matmul", 6), "matmul");
  EXPECT_EQ(shortened("matmul", 5), "matm…");
  EXPECT_EQ(shortened("", 0), "");
}

}  // namespace
}  // namespace tf
