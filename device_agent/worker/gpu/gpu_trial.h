#pragma once
// Owns: one trial on a GPU: its device buffers, its code, the checked runs, the timed runs. Does not know:
// who requested it, the expected answers, processes.

#include <cstdint>

#include "compiler/runtime/gpu/gpu.h"
#include "device_agent/worker/gpu/guarded_memory.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

// An open device and its properties.
struct OpenDevice {
  const gpu::Driver* driver = nullptr;
  gpu::Device* device = nullptr;
  gpu::Facts facts = {};
};

// One form of a program, such as a cubin or PTX.
struct CodeBytes {
  const void* data;
  uint64_t size_bytes;
};

// The trial of one job. Each step returns false if the trial has ended; `result` then says how. The
// destructor frees all resources on the device.
class GpuTrial {
 public:
  GpuTrial(const OpenDevice& open, const sandbox::Job& job, sandbox::Result* result)
      : driver_(*open.driver),
        open_(open),
        job_(job),
        result_(result),
        wants_graph_(open.driver->make_graph != nullptr) {}
  ~GpuTrial();

  // Creates inputs and buffers. Does not touch the candidate.
  bool prepare();
  // Loads the candidate's code, in the first form that the device accepts, and binds its kernels to their
  // buffers.
  bool load(const CodeBytes* forms, uint32_t form_count);
  // If the first launch of a kernel compiles it: launches one block of each kernel.
  bool compile_launches();
  // Runs once and checks the guards, then twice more: a kernel with a data race may give other answers.
  bool checked_runs();
  // Takes the samples, with marks around them on the status pipe.
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
  uint8_t* host_[sandbox::kMaxPorts] = {};  // the original inputs; for outputs, memory for comparisons
  gpu::Program* program_ = nullptr;
  bool has_run_ = false;
  bool wants_graph_;
  gpu::Graph* graph_ = nullptr;  // for short runs
  uint32_t graph_runs_ = 0;
  GuardedMemory workspace_;
  Set sets_[kMostSets];
  uint32_t set_count_ = 0, next_set_ = 0;
  int64_t first_run_ns_ = 0, began_ns_ = 0;
};

}  // namespace tf::worker::gpu_worker
