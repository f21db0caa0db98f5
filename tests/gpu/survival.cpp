#include "tests/gpu/survival.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/gpu/gpu.h"
#include "device_agent/agent/golden/golden_ptx.h"

namespace tf::gpu_test {
namespace {

constexpr char kHostile[] = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry outside(.param .u64 outside_param_0)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 64;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry endless(.param .u64 endless_param_0)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [endless_param_0];
  cvta.to.global.u64 %rd2, %rd1;
again:
  ld.volatile.global.u32 %r1, [%rd2];
  setp.ne.u32 %p1, %r1, 77;
  @%p1 bra again;
  ret;
}
)";

constexpr uint64_t kElements = 32 * 131072;
constexpr int kRight = 0, kWrong = 3, kFaulted = 4, kCannot = 5;

int end_child(const char* error, int code) {
  std::fprintf(stderr, "gpu_run: %s\n", error);
  return code;
}

// Seconds of waiting; then it is killed. The exit code, or -1 for a kill; `took_ms` until it was gone.
int run_for(const char* program, const char* what, int seconds, double* took_ms) {
  const int64_t start_ns = tf_monotonic_ns();
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/proc/self/exe", program, "--child", what, nullptr);
    _exit(127);
  }
  int status = 0;
  bool killed = false;
  int64_t killed_ns = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (!killed && tf_monotonic_ns() - start_ns > seconds * 1'000'000'000ll) {
      killed = kill(pid, SIGKILL) == 0;
      killed_ns = tf_monotonic_ns();
    }
    const timespec pause = {0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
  *took_ms = static_cast<double>(tf_monotonic_ns() - (killed ? killed_ns : start_ns)) * 1e-6;
  return killed ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_child(const char* what) {
  const gpu::Driver& driver = gpu::cuda_driver();
  char error[gpu::kErrorChars] = "";
  gpu::Device* device = driver.open(0, error);
  if (device == nullptr) return end_child(error, kCannot);
  const bool is_golden = std::strcmp(what, "golden") == 0;
  const char* code = is_golden ? agent::kGoldenPtx : kHostile;
  gpu::Program* program = driver.load(device, code, std::strlen(code), error);
  gpu::Kernel* kernel = program == nullptr ? nullptr : driver.find(program, what, error);
  gpu::Memory *x = driver.allocate(device, kElements * sizeof(float), error),
              *y = driver.allocate(device, 128, error);
  if (kernel == nullptr || x == nullptr || y == nullptr) return end_child(error, kCannot);
  std::string ones(kElements * sizeof(float), '\0');
  const float one = 1;
  for (uint64_t i = 0; i < kElements; ++i) std::memcpy(ones.data() + i * sizeof one, &one, sizeof one);
  const gpu::Argument arguments[] = {{x, 0, ones.size()}, {y, 0, 128}};
  if (!driver.upload(x, 0, ones.data(), ones.size(), error) ||
      !driver.bind(kernel, arguments, is_golden ? 2 : 1, nullptr, 0, error))
    return end_child(error, kCannot);
  if (!driver.launch(kernel, {{32, 1, 1}, {64, 1, 1}, 0}, error) || !driver.finish(device, error))
    return end_child(error, driver.is_lost(device) ? kFaulted : kCannot);
  float sums[32] = {};
  if (!driver.download(sums, y, 0, sizeof sums, error)) return end_child(error, kFaulted);
  for (const float sum : sums)
    if (sum != 131072) return end_child("the golden kernel's sums are wrong", kWrong);
  return kRight;
}

std::vector<Survival> try_to_survive(const char* program) {
  std::vector<Survival> all;
  char text[120];
  double ms = 0;
  const auto golden = [&](const char* when) {
    const int code = run_for(program, "golden", 60, &ms);
    std::snprintf(text, sizeof text, "%s, %.0f ms with its process", code == kRight ? "right" : "not right",
                  ms);
    all.push_back({std::string("golden kernel ") + when, text, code == kRight});
  };
  golden("first");
  const int outside = run_for(program, "outside", 30, &ms);
  if (outside == kFaulted)
    std::snprintf(text, sizeof text, "a fault, reported after %.0f ms", ms);
  else
    std::snprintf(text, sizeof text, "exit code %d", outside);
  all.push_back({"a kernel that writes outside", text, outside == kFaulted});
  golden("after it");
  const int endless = run_for(program, "endless", 3, &ms);
  if (endless == -1)
    std::snprintf(text, sizeof text, "killed, gone after %.0f ms", ms);
  else
    std::snprintf(text, sizeof text, "exit code %d", endless);
  all.push_back({"a kernel without an end", text, endless == -1});
  golden("after it was killed");
  return all;
}

}  // namespace tf::gpu_test
