// Runs on a machine with a CUDA device what gpu_prepare compiled, beside cuBLASLt, and what a worker of an agent must survive.
// It needs the driver and libc. Exit code: 0; 1 something is wrong; 3 all is right, but a kernel is slower than its target; 77 there is
// no device.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/runtime/gpu/gpu.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/cublas.h"
#include "tests/gpu/event_timer.h"
#include "tests/gpu/measure.h"
#include "tests/gpu/survival.h"

namespace {

using namespace tf::gpu_test;  // NOLINT: a program of tests

struct Best {
  double ns = 0;
  std::string name;
  const Case* one = nullptr;
};

// In percent of what it is compared with.
constexpr double kBandwidthTarget = 90, kSgemmTarget = 90, kHalfProductTarget = 85;
constexpr int kWrong = 1, kTooSlow = 3, kNoDevice = 77;

std::string json_word(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < ' ' ? ' ' : c;
  }
  return out + "\"";
}

class Report {
 public:
  void row(const std::string& what, const std::string& value, bool good) {
    add(what, value, good ? "" : "   <-- WRONG", std::string(", \"good\": ") + (good ? "true" : "false"));
    all_good_ = all_good_ && good;
  }
  // Of a kernel that reaches so many percent of what it is compared with, and is to reach at least `target`.
  void speed_row(const std::string& what, const std::string& value, double percent, double target) {
    const bool met = percent >= target;
    char mark[64], json[120];
    std::snprintf(mark, sizeof mark, "   <-- BELOW %.0f%%", target);
    std::snprintf(json, sizeof json, ", \"good\": true, \"percent\": %.1f, \"target\": %.0f, \"met\": %s",
                  percent, target, met ? "true" : "false");
    add(what, value, met ? "" : mark, json);
    all_met_ = all_met_ && met;
  }
  void write(const char* path) const {
    if (path != nullptr) std::ofstream(path) << "[\n" << json_ << "\n]\n";
  }
  bool all_good() const { return all_good_; }
  bool all_met() const { return all_met_; }

 private:
  void add(const std::string& what, const std::string& value, const char* mark, const std::string& json) {
    std::printf("%-44s %s%s\n", what.c_str(), value.c_str(), mark);
    std::fflush(stdout);
    json_ += (json_.empty() ? "" : ",\n") + std::string(" {\"what\": ") + json_word(what) +
             ", \"value\": " + json_word(value) + json + "}";
  }

  std::string json_;
  bool all_good_ = true, all_met_ = true;
};

std::string format(const char* text, double a, double b = 0, double c = 0) {
  char line[200];
  std::snprintf(line, sizeof line, text, a, b, c);
  return line;
}

void check_answers(const std::vector<Case>& cases, tf::gpu::Device* device, Report& report) {
  int right = 0, all = 0;
  for (const Case& each : cases) {
    if (each.kind != "check") continue;
    ++all;
    Running running(device, each);
    const std::string wrong = running.error().empty() ? running.first_difference() : running.error();
    if (wrong.empty()) ++right;
    if (!wrong.empty() || each.name.starts_with("matrix"))
      report.row("answer of " + each.name, wrong.empty() ? "right" : wrong, wrong.empty());
  }
  report.row("kernels that agree with the interpreter", std::to_string(right) + " of " + std::to_string(all),
             right == all);
}

// The best candidate of each name, by a short measurement.
std::map<std::string, Best> find_best(const std::vector<Case>& cases, const std::string& kind,
                                      tf::gpu::Device* device, Report& report) {
  std::map<std::string, Best> best;
  for (const Case& each : cases) {
    if (each.kind != kind) continue;
    Running running(device, each);
    std::string wrong = running.error();
    if (wrong.empty() && each.gemm) wrong = running.probe_product();
    const double ns = wrong.empty() ? running.time_ns(20e6) : 0;
    if (!wrong.empty()) report.row(each.name + " " + each.variant, wrong, false);
    Best& known = best[each.name];
    if (ns > 0 && (known.ns == 0 || ns < known.ns)) known = {ns, each.variant, &each};
  }
  return best;
}

void compare_products(const std::vector<Case>& cases, tf::gpu::Device* device, Report& report) {
  std::string why_not;
  Cublas cublas(&why_not);
  for (const auto& [name, best] : find_best(cases, "gemm", device, report)) {
    if (best.one == nullptr) continue;
    const Product& shape = *best.one->gemm;
    const double flops =
        2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    if (!why_not.empty()) {
      report.row(name,
                 format("%.1f TFLOP/s, no cuBLASLt to compare", flops / best.ns * 1e-3) + " (" + why_not +
                     "); " + best.name,
                 true);
      continue;
    }
    // In turns, because clocks follow heat and power.
    Running ours(device, *best.one);
    const bool ready = cublas.prepare(shape, ours, &why_not);
    double our_ns = 0, their_ns = 0, heuristic_ns = 0;
    for (int round = 0; round < 5 && ready; ++round) {
      const double one = ours.time_ns(60e6), other = cublas.time_best_ns(60e6),
                   first = cublas.time_first_ns(60e6);
      our_ns = round == 0 ? one : std::min(our_ns, one);
      their_ns = round == 0 ? other : std::min(their_ns, other);
      heuristic_ns = round == 0 ? first : std::min(heuristic_ns, first);
    }
    if (ready)
      report.speed_row(name,
                       format("%.1f TFLOP/s, cuBLASLt's best %.1f: %.1f%%", flops / our_ns * 1e-3,
                              flops / their_ns * 1e-3, 100 * their_ns / our_ns) +
                           format("; its first %.1f; ", flops / heuristic_ns * 1e-3) + best.name,
                       100 * their_ns / our_ns, shape.element == "f32" ? kSgemmTarget : kHalfProductTarget);
    else
      report.row(name, format("%.1f TFLOP/s; cuBLASLt: ", flops / best.ns * 1e-3) + why_not, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return run_child(argv[2]);
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_run FOLDER [FILE.json]\n");
    return 2;
  }
  char error[tf::gpu::kErrorChars] = "";
  const tf::gpu::Driver& driver = tf::gpu::cuda_driver();
  if (driver.count(error) < 1) {
    std::printf("gpu_run: no GPU here: %s\n", error);
    return kNoDevice;
  }
  // First, and from processes of their own: no fork after a device is open.
  Report report;
  for (const Survival& each : try_to_survive(argv[0])) report.row(each.what, each.how, each.good);
  tf::gpu::Device* device = driver.open(0, error);
  if (device == nullptr) {
    std::fprintf(stderr, "gpu_run: %s\n", error);
    return 1;
  }
  tf::gpu_test::make_current(device);
  tf::gpu::Facts facts;
  driver.facts(device, &facts);
  report.row("device",
             std::string(facts.name) + ", sm_" + std::to_string(facts.capability) + ", " +
                 std::to_string(facts.units) + " SMs, " + facts.driver,
             true);
  report.row("L2, shared memory of a block",
             format("%.1f MiB, %.0f KiB", static_cast<double>(facts.cache_bytes) / (1 << 20),
                    static_cast<double>(facts.shared_bytes) / 1024),
             true);
  report.row("clock, memory bus",
             format("%.0f MHz, %.0f bits", facts.clock_khz * 1e-3, facts.memory_bus_bits), true);
  const double peak = peak_gflops(device, facts);
  report.row("fp32 multiply-adds", format("%.1f TFLOP/s", peak * 1e-3), peak > 0);
  const double copied = copy_gbytes_per_s(device);
  report.row("copy by the driver, read and written", format("%.0f GB/s", copied), copied > 0);
  const std::vector<Case> cases = read_cases(argv[1]);
  if (cases.empty()) std::fprintf(stderr, "gpu_run: %s/cases has no kernels: run gpu_prepare\n", argv[1]);
  check_answers(cases, device, report);
  for (const auto& [name, best] : find_best(cases, "bandwidth", device, report))
    if (best.one != nullptr)
      report.speed_row(name,
                       format("%.0f GB/s, %.1f%% of the copy; ", best.one->bytes / best.ns,
                              100 * best.one->bytes / best.ns / copied) +
                           best.name,
                       100 * best.one->bytes / best.ns / copied, kBandwidthTarget);
  compare_products(cases, device, report);
  report.write(argc > 2 ? argv[2] : nullptr);
  std::printf("%s\n", driver.is_lost(device) ? "the device was lost"
                      : !report.all_good()   ? "something is wrong, see above"
                      : report.all_met()
                          ? "all good"
                          : "all is right, but some kernels are below their targets, see above");
  if (!report.all_good() || driver.is_lost(device)) return kWrong;
  return report.all_met() ? 0 : kTooSlow;
}
