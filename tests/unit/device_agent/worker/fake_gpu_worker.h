#pragma once
// Owns: what a test has the runners of fake_gpu_worker.cpp do, by memory that travels as a job's first blob. Does not know: tests.

#include <atomic>
#include <cstdint>

namespace tf::worker {

struct FakeRun {
  std::atomic<uint64_t> work;                // it grows for as long as the runner works
  std::atomic<uint32_t> may_be_ready, ends;  // 1: it goes on from making ready; from its turn
  std::atomic<uint32_t> dies;                // 1: once it is ready
};

}  // namespace tf::worker
