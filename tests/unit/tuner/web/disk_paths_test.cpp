#include "tuner/web/gateway/disk_paths.h"

#include <gtest/gtest.h>

namespace tf::web {
namespace {

TEST(DiskPaths, AreReplacedByTheirLastPart) {
  EXPECT_EQ(without_disk_paths("cannot read /home/ada/t.db.models/ab.onnx: gone"),
            "cannot read ab.onnx: gone");
  EXPECT_EQ(without_disk_paths(R"({"detail":"/tmp/x/y","a":"'/var/lib/z'"})"), R"({"detail":"y","a":"'z'"})");
  EXPECT_EQ(without_disk_paths("/usr/lib/x.so and /usr/lib/y.so"), "x.so and y.so");
  EXPECT_EQ(without_disk_paths("--db=/home/ada/t.db"), "--db=t.db");
  EXPECT_EQ(without_disk_paths(R"({"a":"failed:\n/tmp/x/a.c:1\t/tmp/x/b","b":"\u003c/tmp/x/c.h\u003e"})"),
            R"({"a":"failed:\na.c:1\tb","b":"\u003cc.h\u003e"})");
}

TEST(DiskPaths, OtherTextsWithSlashesStay) {
  for (const char* text : {"", "/", "//", "/features/0/Conv", "a/home/b/c", "https://home/tmp/x",
                           "Tuner/ListJobs", "box-1/0", "1/2", "/home", "/* tmp/x */"})
    EXPECT_EQ(without_disk_paths(text), text);
}

TEST(DiskPaths, ManyOfThemTakeNoLongerThanTheText) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "/tmp/a ";
  EXPECT_EQ(without_disk_paths(text).size(), 1'000'000u);
}

}  // namespace
}  // namespace tf::web
