// Schedules' text, as it stands in databases, and what it does to two workloads that all tests know.
#include "compiler/schedule/schedule.h"
#include "tests/fuzz/input.h"

namespace {

constexpr const char* kWorkloads[] = {
    "workload v1\n"
    "input p0: f32[33, 64]\n"
    "constant p1: f32[64, 48]\n"
    "stage t0: f32[i0 < 33, i1 < 48] = reduce sum[r0 < 64] p0[i0, r0] * p1[r0, i1]\n"
    "stage t1: f32[i0 < 33, i1 < 48] = max(t0[i0, i1], 0f32)\n"
    "output t1\n",
    "workload v1\n"
    "input p0: f32[1, 16, 10, 10]\n"
    "constant p1: f32[32, 16, 3, 3]\n"
    "stage t0: f32[i0 < 1, i1 < 32, i2 < 8, i3 < 8] = reduce sum[r0 < 16, r1 < 3, r2 < 3] "
    "p0[i0, r0, i2 + r1, i3 + r2] * p1[i1, r0, r1, r2]\n"
    "output t0\n"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  static const std::vector<tensor::Workload> kParsed = [] {
    std::vector<tensor::Workload> parsed;
    for (const char* text : kWorkloads) parsed.push_back(*tensor::parse_workload(text));
    return parsed;
  }();
  const auto schedule = schedule::parse_schedule(fuzz::text(data, size));
  if (!schedule.ok()) return 0;
  const std::string text = schedule::to_string(*schedule);
  const auto again = schedule::parse_schedule(text);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << text;
  TF_CHECK(schedule::to_string(*again) == text) << text;
  for (const tensor::Workload& workload : kParsed) (void)schedule::apply(workload, *schedule);
  return 0;
}
