#include "tuner/cli/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::tuner_cli {
namespace {

using testing::ElementsAre;

TEST(TextTable, HasColumnsAsWideAsWhatStandsInThem) {
  EXPECT_THAT(text_table({{"op", "95% bounds", "thr", "device"},
                          {"matmul", "-66.9% +5621.3%", "1", "desk"},
                          {"add", "", "16", ""}},
                         "llrl"),
              ElementsAre("op     95% bounds      thr device",  //
                          "matmul -66.9% +5621.3%   1 desk",    //
                          "add                     16"));
  EXPECT_THAT(text_table({}, "ll"), ElementsAre());
}

}  // namespace
}  // namespace tf::tuner_cli
