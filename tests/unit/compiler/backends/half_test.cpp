// What the code of f16 vectors looks like: they are computed as f32 vectors. LLVM would rather compute in f16, which it
// does lane by lane where there are no instructions for it: forty times the code, and the time of a build with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/ir/parse.h"
#include "compiler/target/target.h"

namespace tf::backends {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string assembly_of(const std::string& value, const std::string& target) {
  const absl::StatusOr<ir::Function> function =
      ir::parse_function(absl::StrCat("function kernel(a: f16[256], b: f16[256], c: f16[256]) {\n  for i = 0 "
                                      "extent 16 {\n    c[ramp(i * 16, 1, 16)] = ",
                                      value, "\n  }\n}\n"));
  EXPECT_TRUE(function.ok()) << function.status();
  if (!function.ok()) return "";
  const absl::StatusOr<KernelCode> code =
      compile(*function, *target::parse_target(target), {.assembly = true});
  EXPECT_TRUE(code.ok()) << code.status();
  return code.ok() ? code->assembly : "";
}

TEST(HalfVectors, AreComputedAsVectorsOfFloats) {
  const std::string a = "a[ramp(i * 16, 1, 16)]", b = "b[ramp(i * 16, 1, 16)]";
  for (const char* target : {"x86_64:cpu=haswell", "x86_64:cpu=skylake-avx512", "x86_64:cpu=znver4"}) {
    for (const std::string& value :
         {absl::StrCat("max(", a, ", ", b, ")"), absl::StrCat("min(", a, ", ", b, ")"),
          absl::StrCat(a, " + ", b), absl::StrCat(a, " * ", b), absl::StrCat(a, " / ", b),
          absl::StrCat("sqrt(", a, ")"), absl::StrCat("abs(", a, ")"),
          absl::StrCat("select(", a, " < ", b, ", broadcast(1.0f16, 16), broadcast(2.0f16, 16))")}) {
      const std::string code = assembly_of(value, target);
      EXPECT_THAT(code, HasSubstr("vcvtph2ps")) << value;
      for (const char* of_one_lane : {"ucomiss", "addss", "mulss", "divss", "sqrtss", "vpextrw", "vpinsrw"}) {
        EXPECT_THAT(code, Not(HasSubstr(of_one_lane))) << value << " for " << target;
      }
    }
  }
}

}  // namespace
}  // namespace tf::backends
