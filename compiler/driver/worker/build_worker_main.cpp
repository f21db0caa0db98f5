// A build worker: answers framed BuildRequests on its standard input, which is a socket, with framed
// BuildReplies on the same socket, one at a time, until the other end closes it. It limits its own memory
// and, for each request by its kind, its processor time; what LLVM or lld print goes to standard error.

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <new>
#include <optional>

#include "base/cli/command_line.h"
#include "base/status.h"
#include "compiler/driver/frame.h"
#include "compiler/driver/worker/compile.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace {

namespace proto = tunefarm::kernel::v1;

void limit_memory([[maybe_unused]] int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these reserve terabytes of addresses
  rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

// From now on; SIGXCPU ends the process beyond it, even if nobody is there who would: a pool that is stopped
// kills no worker.
void limit_cpu(int64_t seconds) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  rlim_t used = static_cast<rlim_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  rlimit limit{used + static_cast<rlim_t>(seconds) + 1, RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &limit);
}

struct CpuSeconds {
  int64_t kernel = 30, link = 600;  // a link moves hundreds of megabytes, a kernel is small
};

proto::BuildReply answer(const std::string& bytes, const CpuSeconds& cpu_seconds) {
  proto::BuildRequest request;
  proto::BuildReply reply;
  try {
    if (request.ParseFromString(bytes)) {
      limit_cpu(request.has_link() ? cpu_seconds.link : cpu_seconds.kernel);
      return tf::driver::build(request);
    }
    reply.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
    reply.set_message("the build request is not a kernel.v1.BuildRequest");
  } catch (const std::bad_alloc&) {
    reply.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
    reply.set_message("the build exceeds the memory limit of a build worker");
  } catch (const std::exception& error) {
    reply.set_code(static_cast<int>(absl::StatusCode::kInternal));
    reply.set_message(error.what());
  }
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Internal program that builds kernels for a build pool; do not run it directly.",
               "build_worker");
  int64_t memory_bytes = int64_t{4} << 30;
  CpuSeconds cpu_seconds;
  app.add_option("--memory-bytes", memory_bytes, "Address space limit")->check(CLI::PositiveNumber);
  app.add_option("--cpu-seconds", cpu_seconds.kernel, "Processor time limit of one kernel")
      ->check(CLI::PositiveNumber);
  app.add_option("--link-cpu-seconds", cpu_seconds.link, "Processor time limit of linking one model")
      ->check(CLI::PositiveNumber);
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  limit_memory(memory_bytes);
  // Builds give way to measurements on the same machine; that this may fail does not matter.
  setpriority(PRIO_PROCESS, 0, 10);
  constexpr int kSocket = STDIN_FILENO;
  while (true) {
    absl::StatusOr<std::string> request = tf::driver::read_frame(kSocket, tf::driver::kNever);
    if (!request.ok()) return 0;  // the pool has gone
    proto::BuildReply reply = answer(*request, cpu_seconds);
    if (!tf::driver::write_frame(kSocket, reply.SerializeAsString(), tf::driver::kNever).ok()) return 0;
    // After that LLVM's state is anybody's guess; the pool starts another.
    if (reply.code() == static_cast<int>(absl::StatusCode::kResourceExhausted)) return 0;
  }
}
