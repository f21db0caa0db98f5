// The kernel's own list of this machine's features (/proc/cpuinfo) is what the checks are compared with.
#include "compiler/runtime/cpu_features.h"

#include <gtest/gtest.h>

#include <string>

#include "base/machine/machine_files.h"
#include "compiler/runtime/model_types.h"

namespace {

#if defined(__x86_64__)

// Linux's name, where it is another.
std::string linux_name(const std::string& name) {
  if (name == "sse4.2") return "sse4_2";
  if (name == "bmi") return "bmi1";
  if (name == "lzcnt") return "abm";
  if (name == "avxvnni") return "avx_vnni";
  for (const char* with_underscore : {"vnni", "vbmi2", "bitalg", "vpopcntdq", "bf16", "fp16"})
    if (name == std::string("avx512") + with_underscore) return std::string("avx512_") + with_underscore;
  return name;
}

TEST(CpuFeatures, AreThoseThatTheKernelLists) {
  std::string flags;
  tf::for_each_cpu_field([&](std::string_view name, std::string_view value) {
    if (name == "flags") flags = " " + std::string(value) + " ";
    return flags.empty();
  });
  ASSERT_NE(flags, "");
  int checked = 0;
  for (int32_t i = 0; const char* name = tf_cpu_feature_name(i); ++i, ++checked) {
    const std::string list = std::string(name) + '\0';
    const bool listed = flags.find(" " + linux_name(name) + " ") != std::string::npos;
    EXPECT_EQ(tf_missing_feature(list.c_str()), listed ? 0 : TF_MODEL_MISSING_FEATURE + i) << name;
  }
  EXPECT_GT(checked, 20);
}

TEST(CpuFeatures, AreCheckedToTheLastOfAList) {
  int32_t last = 0;
  while (tf_cpu_feature_name(last + 1) != nullptr) ++last;
  const std::string one = std::string(tf_cpu_feature_name(last)) + '\0';
  const std::string unknown_after = std::string("sse4.2") + '\0' + "none such" + '\0';
  EXPECT_EQ(tf_missing_feature(""), TF_MODEL_OK);
  const int32_t alone = tf_missing_feature(one.c_str());
  EXPECT_TRUE(alone == TF_MODEL_OK || alone == TF_MODEL_MISSING_FEATURE + last);
  const std::string first = "sse4.2";
  if (tf_missing_feature((first + '\0').c_str()) == TF_MODEL_OK) {
    EXPECT_EQ(tf_missing_feature(unknown_after.c_str()), TF_MODEL_BAD_LIBRARY);
    EXPECT_EQ(tf_missing_feature((first + '\0' + one).c_str()), alone);
  }
}

#endif

TEST(CpuFeatures, HaveATextEach) {
  EXPECT_EQ(tf_missing_feature_text(TF_MODEL_BAD_LIBRARY), nullptr);
  EXPECT_EQ(tf_missing_feature_text(TF_MODEL_MISSING_FEATURE_LAST), nullptr);
  for (int32_t i = 0; const char* name = tf_cpu_feature_name(i); ++i) {
    const char* text = tf_missing_feature_text(TF_MODEL_MISSING_FEATURE + i);
    ASSERT_NE(text, nullptr) << name;
    EXPECT_NE(std::string(text).find(name), std::string::npos);
  }
}

}  // namespace
