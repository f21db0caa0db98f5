#include <gtest/gtest.h>

#include <cstring>

#include "device_agent/worker/verdict_proto.h"
#include "proto/farm/v1/trial.pb.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::worker::ChildRun;
using tf::worker::judge_end;
using tf::worker::sandbox::ChildEnd;
using tf::worker::sandbox::Job;

ChildRun ended(ChildEnd end, const std::string& detail) {
  ChildRun run;
  run.reply = {};
  run.result = {};
  run.result.end = end;
  std::memcpy(run.result.detail, detail.data(), std::min(detail.size(), sizeof run.result.detail));
  return run;
}

TEST(JudgeEnd, WhateverAChildLeftAsItsDetailIsOnePrintableLine) {
  for (const ChildEnd end :
       {ChildEnd::kKernelError, ChildEnd::kWroteOutside, ChildEnd::kBuffersDoNotFit, ChildEnd::kCannotLoad}) {
    farm::TrialResult result;
    ASSERT_TRUE(judge_end(ended(end, "bad \xff\xfe\x1b[31m\nline"), Job(), &result).ok());
    EXPECT_THAT(result.detail(), testing::EndsWith("bad ???[31m line"));
    EXPECT_TRUE(farm::TrialResult().ParseFromString(result.SerializeAsString()));
  }
  farm::TrialResult unterminated;
  ASSERT_TRUE(judge_end(ended(ChildEnd::kKernelError, std::string(300, '\xc3')), Job(), &unterminated).ok());
  EXPECT_EQ(unterminated.detail(), std::string(sizeof tf::worker::sandbox::Result().detail, '?'));
}

}  // namespace
