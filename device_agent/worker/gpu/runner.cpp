#include "device_agent/worker/gpu/runner.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "device_agent/worker/gpu/device_kinds.h"
#include "device_agent/worker/gpu/device_name.h"
#include "device_agent/worker/gpu/gpu_trial.h"
#include "device_agent/worker/gpu/monitor.h"
#include "device_agent/worker/gpu/note.h"
#include "device_agent/worker/gpu/peak.h"
#include "device_agent/worker/gpu/turn.h"
#include "device_agent/worker/sandbox/request_socket.h"

namespace tf::worker::gpu_worker {
namespace {

using sandbox::ChildEnd;
using sandbox::Job;
using sandbox::JobKind;
using sandbox::Received;
using sandbox::Result;

bool tell(int socket, NoteKind kind, bool is_lost = false, const char* detail = "") {
  Note note = {.kind = kind, .is_lost = is_lost, .detail = {}};
  std::snprintf(note.detail, sizeof note.detail, "%s", detail);
  return send(socket, &note, sizeof note, MSG_NOSIGNAL) == sizeof note;
}

int64_t cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Memory that a file lies in, while this lives.
class Mapped {
 public:
  Mapped(int fd, int protection)
      : bytes_(sandbox::file_bytes(fd)), data_(sandbox::map_whole(fd, protection)) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const uint64_t bytes_;
  void* const data_;
};

bool end(Result* result, ChildEnd how, const char* detail) {
  std::snprintf(result->detail, sizeof result->detail, "%s", detail);
  result->end = how;
  return false;
}

class Runner {
 public:
  Runner(int socket, const DeviceName& name, const OpenDevice& open)
      : socket_(socket), name_(name), open_(open), monitor_(open.facts.bus_id), turn_(socket) {}

  // False: the supervisor has gone.
  bool serve_one(const Received& received) {
    dup2(received.fds[sandbox::kPrintFd], STDOUT_FILENO);
    dup2(received.fds[sandbox::kPrintFd], STDERR_FILENO);
    const Mapped job(received.fds[sandbox::kJobFd], PROT_READ);
    const Mapped result(received.fds[sandbox::kResultFd], PROT_READ | PROT_WRITE);
    if (job.data() == nullptr || result.data() == nullptr) return false;
    const bool here =
        serve(*static_cast<const Job*>(job.data()), static_cast<Result*>(result.data()), received);
    std::fflush(nullptr);
    dup2(STDIN_FILENO, STDOUT_FILENO);  // the print pipe is to end with the job
    dup2(STDIN_FILENO, STDERR_FILENO);
    const bool is_lost = open_.driver->is_lost(open_.device);
    return here && tell(socket_, NoteKind::kDone, is_lost);
  }

 private:
  bool serve(const Job& job, Result* result, const Received& received) {
    turn_.expect(job.ready_cpus, job.device_cpus);
    if (job.kind == JobKind::kPeak) {
      if (!wait_for_turn(received)) return false;
      char error[gpu::kErrorChars] = "";
      result->peak_gflops = measure_peak(open_, name_.kind->peak_source, error);
      std::snprintf(result->detail, sizeof result->detail, "%s", open_.facts.name);
      std::snprintf(result->gpu.driver, sizeof result->gpu.driver, "%.39s", open_.facts.driver);
      result->gpu.memory_bytes = open_.facts.memory_bytes;
      result->gpu.capability = open_.facts.capability;
      result->gpu.units = open_.facts.units;
      result->gpu.is_processor = open_.facts.compiles_at_launch ? 1 : 0;
      monitor_.read(&result->gpu);
      if (result->peak_gflops > 0) {
        result->end = ChildEnd::kDone;
      } else {
        end(result, ChildEnd::kCannotMeasure, error);
      }
      return true;
    }
    for (uint32_t b = 0; b < job.blob_count; ++b)
      if (!name_.kind->loads(job.blob_kinds[b]))
        return !end(result, ChildEnd::kOtherDevice, "the artifact is not for this kind of device");
    GpuTrial* trial = new (std::nothrow) GpuTrial(open_, job, result);
    if (trial == nullptr) return !end(result, ChildEnd::kCannotMeasure, "no memory");
    const bool here = !trial->prepare() || run(*trial, job.blob_count, received);
    monitor_.read(&result->gpu);
    delete trial;
    return here;
  }

  // All that compiles comes before its turn, while others may be measured.
  bool run(GpuTrial& trial, uint32_t form_count, const Received& received) {
    CodeBytes forms[sandbox::kMaxBlobs];
    for (uint32_t f = 0; f < form_count; ++f) {
      const int fd = received.fds[sandbox::kFirstBlobFd + f];
      forms[f] = {sandbox::map_whole(fd, PROT_READ), sandbox::file_bytes(fd)};
    }
    const bool ready =
        trial.load(forms, form_count) && (!open_.facts.compiles_at_launch || trial.compile_launches());
    for (uint32_t f = 0; f < form_count; ++f)
      munmap(const_cast<void*>(forms[f].data), static_cast<size_t>(forms[f].size_bytes));
    if (!ready) return true;
    if (!wait_for_turn(received)) return false;
    if (trial.checked_runs()) trial.timed_runs(received.fds[sandbox::kStatusFd]);
    return true;
  }

  bool wait_for_turn(const Received& received) {
    if (!tell(socket_, NoteKind::kPrepared) || !turn_.wait()) return false;
    const sandbox::Loading loading = {.cpu_ns = cpu_ns()};
    return write(received.fds[sandbox::kStatusFd], &loading, sizeof loading) == sizeof loading;
  }

  const int socket_;
  const DeviceName name_;
  const OpenDevice open_;
  Monitor monitor_;
  Turn turn_;
};

}  // namespace

int serve_runner(int socket, const char* device) {
  const DeviceName name = find_device(device);
  char error[gpu::kErrorChars] = "";
  OpenDevice open;
  if (name.kind == nullptr) {
    std::snprintf(error, sizeof error, "this worker has no device '%s': there are %s", device, kKnownDevices);
  } else {
    open.driver = &name.kind->driver();
    open.device = open.driver->open(name.index, error);
  }
  if (open.device == nullptr) {
    tell(socket, NoteKind::kCannotOpen, true, error);
    return 1;
  }
  open.driver->facts(open.device, &open.facts);
  if (!tell(socket, NoteKind::kOpen)) return 0;
  Runner runner(socket, name, open);
  Received received;
  while (sandbox::receive(socket, &received)) {
    const bool here = runner.serve_one(received);
    sandbox::close_all(received);
    if (!here || open.driver->is_lost(open.device)) return 0;
  }
  return 0;
}

}  // namespace tf::worker::gpu_worker
