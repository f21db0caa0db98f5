#pragma once
// Owns: one trial on a GPU: its buffers there, its code, the checked run, the timed runs. Does not know: who asked, what the
// right answer is, processes.

#include <cstdint>

#include "compiler/runtime/gpu/gpu.h"
#include "device_agent/worker/gpu/guarded_memory.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

// An open device, and what is known of it.
struct OpenDevice {
  const gpu::Driver* driver = nullptr;
  gpu::Device* device = nullptr;
  gpu::Facts facts = {};
};

// A program in one of its forms: a cubin, PTX.
struct CodeBytes {
  const void* data;
  uint64_t size_bytes;
};

// Of one job. Each step returns false where the trial has ended, and `result` then says how. What it has on the device ends
// with it.
class GpuTrial {
 public:
  GpuTrial(const OpenDevice& open, const sandbox::Job& job, sandbox::Result* result)
      : driver_(*open.driver),
        open_(open),
        job_(job),
        result_(result),
        wants_graph_(open.driver->make_graph != nullptr) {}
  ~GpuTrial();

  // Inputs and buffers; nothing of the candidate.
  bool prepare();
  // The candidate's code, in the first form that the device loads, and its kernels bound to their buffers.
  bool load(const CodeBytes* forms, uint32_t form_count);
  // Where a first launch compiles: makes that compile its kernels, by one block of each.
  bool compile_launches();
  // Once with guards. Twice more: a kernel that races may give another answer.
  bool checked_runs();
  // Samples, with marks around them on the status pipe.
  bool timed_runs(int status_fd);

 private:
  static constexpr uint32_t kMostSets = 64;
  struct Set {
    GuardedMemory ports[sandbox::kMaxPorts];
    gpu::Kernel* kernels[sandbox::kMaxLaunches] = {};
  };

  bool end(sandbox::ChildEnd how, const char* detail);
  bool device_failed();  // error_ says how
  bool launch_failed();
  bool make_host_inputs();
  uint32_t sets_wanted() const;
  bool fill_set(Set& set);
  bool poison_outputs(Set& set);
  bool bind(Set& set, gpu::Program* program);
  bool map_tensors(const sandbox::LaunchJob& launch, gpu::Kernel* kernel);
  gpu::LaunchSize size_of(uint32_t launch) const;
  bool launch(Set& set);
  bool run_once(Set& set, int64_t* elapsed_ns);
  bool keep_answer(const Set& set, bool last);
  bool check_memory(const Set& set);
  bool same_answer(const Set& set);
  bool make_graph();
  bool run_batch(uint32_t* runs, int64_t* total_ns);
  bool warm_up(double* run_ns);
  bool take_sample(double run_ns, sandbox::SampleResult* sample);

  const gpu::Driver& driver_;
  const OpenDevice& open_;
  const sandbox::Job& job_;
  sandbox::Result* const result_;
  char error_[gpu::kErrorChars] = "";
  uint8_t* host_[sandbox::kMaxPorts] = {};  // inputs as they were made; of outputs, room to compare
  gpu::Program* program_ = nullptr;
  bool has_run_ = false;
  bool wants_graph_;
  gpu::Graph* graph_ = nullptr;  // of short runs
  uint32_t graph_runs_ = 0;
  GuardedMemory workspace_;
  Set sets_[kMostSets];
  uint32_t set_count_ = 0, next_set_ = 0;
  int64_t first_run_ns_ = 0, began_ns_ = 0;
};

}  // namespace tf::worker::gpu_worker
