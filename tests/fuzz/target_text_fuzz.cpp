// Targets' text, as options, records and requests have it.
#include "compiler/target/target.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto target = tf::target::parse_target(tf::fuzz::text(data, size));
  if (!target.ok()) return 0;
  const std::string text = target->text();
  const auto again = tf::target::parse_target(text);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << text;
  TF_CHECK(again->text() == text && *again == *target) << text;
  return 0;
}
