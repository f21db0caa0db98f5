// The loop IR's text, as people give it to `compiler kernel`.
#include "compiler/ir/equal.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  const auto function = ir::parse_function(fuzz::text(data, size));
  if (!function.ok() || !ir::verify(*function).ok()) return 0;
  const std::string text = ir::to_string(*function);
  const auto again = ir::parse_function(text);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << text;
  TF_CHECK(ir::equal(*function, *again)) << text;
  return 0;
}
