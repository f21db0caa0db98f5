#include "base/machine/machine_files.h"

#include <gtest/gtest.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf {
namespace {

TEST(MachineFiles, TheFirstLineHasNoSpaceAroundIt) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file("model"), std::string(" Raspberry Pi 4 \0\nmore", 22)).ok());
  EXPECT_EQ(first_line(folder.file("model")), "Raspberry Pi 4");
  EXPECT_EQ(first_line(folder.file("nothing")), "");
}

TEST(MachineFiles, SizesHaveUnitsOfKAndM) {
  EXPECT_EQ(parse_size_bytes("512K"), 512u << 10);
  EXPECT_EQ(parse_size_bytes("2M"), 2u << 20);
  EXPECT_EQ(parse_size_bytes("65536"), 65536u);
  EXPECT_EQ(parse_size_bytes(""), 0u);
  EXPECT_EQ(parse_size_bytes("large"), 0u);
}

TEST(MachineFiles, FieldsOfProcessorsComeUntilAskedToStop) {
  int fields = 0, all = 0;
  for_each_cpu_field([&](std::string_view name, std::string_view) {
    EXPECT_EQ(name.find_first_of("\t:"), std::string_view::npos) << name;
    return ++all, true;
  });
  if (all == 0) GTEST_SKIP() << "no /proc/cpuinfo here";
  for_each_cpu_field([&](std::string_view, std::string_view) { return ++fields < 2; });
  EXPECT_EQ(fields, 2);
}

}  // namespace
}  // namespace tf
