#include "compiler/tensor/layout_name.h"

#include <gtest/gtest.h>

namespace tf::tensor {
namespace {

TEST(LayoutName, IsWhatPeopleWrite) {
  EXPECT_EQ(layout_name("0,1,2,3,1:8"), "NCHW8c");
  EXPECT_EQ(layout_name("0,1,2,3,1:16"), "NCHW16c");
  EXPECT_EQ(layout_name("0,2,3,1"), "NHWC");
  EXPECT_EQ(layout_name("0,1,2,1:4"), "NCW4c");
  EXPECT_EQ(layout_name("0,1,2,3,4,1:8"), "NCDHW8c");
  EXPECT_EQ(layout_name("1,0,1:8"), "BA8b");
  EXPECT_EQ(layout_name("0,1,2,3,1:8^2:0:3"), "NCHW8c^2:0:3");
}

TEST(LayoutName, OfNoLayoutIsTheTextItself) {
  EXPECT_EQ(layout_name(""), "-") << "row-major";
  EXPECT_EQ(layout_name("0,7,x"), "0,7,x");
}

}  // namespace
}  // namespace tf::tensor
