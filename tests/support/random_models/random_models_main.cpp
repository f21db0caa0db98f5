// Builds random models and compares them with ONNX Runtime:
//   random_models [--from SEED] [--count N] [--only OPERATOR] [--jobs N] [--folder DIR] [--allow METHODS]
// prints a line for each that is not equal, and counts. The models of these are left in DIR/SEED, as ONNX backend tests.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/machine/child_process.h"
#include "tests/support/random_models/trial.h"

namespace tf {
namespace {

struct Arguments {
  uint64_t from = 0, count = 100, jobs = 1;
  std::string only, folder = "random_models", allow;
};

// What jobs share: the seed that each is at, and counts of verdicts.
struct Progress {
  uint64_t at[64];
  uint64_t counts[8];
  uint64_t crashes;
};

void run_job(const Arguments& arguments, uint64_t job, uint64_t first, Progress& progress) {
  OnnxRuntime reference;
  auto pool = driver::BuildPool::create({.workers = 1, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
  if (!pool.ok()) std::exit(1);
  for (uint64_t seed = first; seed < arguments.from + arguments.count; seed += arguments.jobs) {
    progress.at[job] = seed;
    const std::string folder = absl::StrCat(arguments.folder, "/", seed);
    const onnx::RandomCase test = onnx::random_case(seed, arguments.only);
    TrialOptions options{.folder = folder};
    if (!arguments.allow.empty()) options.allow = absl::StrSplit(arguments.allow, ',');
    const TrialResult result = try_against(reference, test, **pool, options);
    __atomic_add_fetch(&progress.counts[static_cast<size_t>(result.verdict)], 1, __ATOMIC_RELAXED);
    std::filesystem::remove_all(folder + "/built");
    if (result.verdict == Verdict::kEqual) {
      std::filesystem::remove_all(folder);
      continue;
    }
    std::printf("%-12s %llu %s (set %d): %s\n", verdict_name(result.verdict),
                static_cast<unsigned long long>(seed), test.name.c_str(), test.model.opset(),
                result.text.substr(0, 400).c_str());
    std::fflush(stdout);
  }
}

int run(const Arguments& arguments) {
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::map<pid_t, uint64_t> jobs;
  const auto start = [&](uint64_t job, uint64_t first) {
    const pid_t child = fork_dependent();
    if (child == 0) {
      run_job(arguments, job, first, *progress);
      std::exit(0);
    }
    jobs[child] = job;
  };
  for (uint64_t job = 0; job < arguments.jobs; ++job) start(job, arguments.from + job);
  while (!jobs.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    const uint64_t job = jobs.at(ended);
    jobs.erase(ended);
    if (status == 0) continue;
    const uint64_t seed = progress->at[job];
    std::printf("crash        %llu %s: status %d\n", static_cast<unsigned long long>(seed),
                onnx::random_case(seed, arguments.only).name.c_str(), status);
    ++progress->crashes;
    start(job, seed + arguments.jobs);
  }
  for (int verdict = 0; verdict < 5; ++verdict)
    std::printf("%s: %llu\n", verdict_name(static_cast<Verdict>(verdict)),
                static_cast<unsigned long long>(progress->counts[verdict]));
  std::printf("crashes: %llu\n", static_cast<unsigned long long>(progress->crashes));
  return progress->counts[static_cast<int>(Verdict::kDifferent)] + progress->crashes == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tf

int main(int argc, char** argv) {
  tf::Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--from") arguments.from = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--count") arguments.count = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--jobs") arguments.jobs = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--only") arguments.only = value;
    if (option == "--folder") arguments.folder = value;
    if (option == "--allow") arguments.allow = value;
  }
  return tf::run(arguments);
}
