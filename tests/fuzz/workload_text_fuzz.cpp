// Workloads' canonical text, as it stands in databases, requests and files.
#include "compiler/tensor/workload.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto workload = tf::tensor::parse_workload(tf::fuzz::text(data, size));
  if (!workload.ok()) return 0;
  const std::string text = tf::tensor::canonical_text(*workload);
  const auto again = tf::tensor::parse_workload(text);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << text;
  TF_CHECK(tf::tensor::canonical_text(*again) == text) << text;
  return 0;
}
