#pragma once
// Owns: what tests of workers share.

#include <gmock/gmock.h>

#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {

// Options of tests that are not about the sandbox: they pass on a machine that lacks a part of it.
inline WorkerOptions anywhere(WorkerOptions options = {}) {
  options.sandbox.without_missing = true;
  return options;
}

}  // namespace tf::worker

#define EXPECT_OUTCOME(result, expected)                                    \
  EXPECT_EQ(tunefarm::farm::v1::Outcome_Name((result).outcome()),           \
            tunefarm::farm::v1::Outcome_Name(tunefarm::farm::v1::expected)) \
      << (result).detail() << (result).printed()
