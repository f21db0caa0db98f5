// Memory access, loops, masks, threads and workspace, against the interpreter.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/backends/llvm/codegen.h"
#include "compiler/ir/parse.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::backends {
namespace {

TEST(Memory, StridesOfEveryKindAgree) {
  for (const char* index :
       {"ramp(3, 1, 16)", "ramp(1, 2, 16)", "ramp(2, 3, 16)", "ramp(0, 4, 16)", "ramp(1, 5, 12)",
        "ramp(60, -1, 16)", "broadcast(7, 16)",
        "ramp(0, 1, 16) % broadcast(4, 16) + ramp(0, 1, 16) // broadcast(4, 16) * broadcast(9, 16)",
        "ramp(2, 2, 7)", "ramp(0, 3, 5)"}) {
    int lanes = std::string(index).ends_with("12)")   ? 12
                : std::string(index).ends_with(" 7)") ? 7
                : std::string(index).ends_with(" 5)") ? 5
                                                      : 16;
    for (const char* element : {"f32", "bool", "f16"}) {
      expect_agrees(absl::StrCat("function kernel(a: ", element, "[64], b: ", element, "[16], c: ", element,
                                 "[64]) {\n  b[ramp(0, 1, ", lanes, ")] = a[", index, "]\n  c[", index,
                                 "] = a[ramp(9, 1, ", lanes, ")]\n}\n"));
    }
  }
}

TEST(Memory, MaskedTailsAgreeForEveryLength) {
  for (int n : {0, 1, 9, 15, 16, 17, 33}) {
    for (const char* element : {"f32", "bool", "bf16"}) {
      expect_agrees(
          absl::StrCat("function kernel(a: ", element, "[", n, "], c: ", element, "[", n,
                       "]) {\n  for i = 0 extent ", (n + 15) / 16,
                       " {\n    c[ramp(i * 16, 1, 16)] = (a[ramp(i * 16, 1, 16)] if ramp(i * 16, 1, 16) < "
                       "broadcast(",
                       n, ", 16)) where ramp(i * 16, 1, 16) < broadcast(", n, ", 16)\n  }\n}\n"));
    }
  }
}

TEST(Memory, MasksOnStridedAndBroadcastAccessesAgree) {
  for (const char* index :
       {"ramp(0, 2, 8)", "broadcast(5, 8)", "ramp(63, -3, 8)", "ramp(0, 1, 8) * ramp(0, 1, 8)"}) {
    for (const char* mask :
         {"ramp(0, 1, 8) < broadcast(5, 8)", "ramp(0, 1, 8) % broadcast(3, 8) == broadcast(1, 8)",
          "broadcast(m[0], 8)", "m[ramp(0, 1, 8)]"}) {
      expect_agrees(absl::StrCat(
          "function kernel(a: f32[64], m: bool[8], c: f32[8], d: f32[64]) {\n  c[ramp(0, 1, 8)] = (a[", index,
          "] if ", mask, ")\n  d[", index, "] = a[ramp(0, 1, 8)] where ", mask, "\n}\n"));
    }
  }
}

TEST(Memory, ScalarPredicatesGuardTheAccess) {
  expect_agrees(
      "function kernel(a: f32[10], c: f32[20]) {\n  for i = 0 extent 20 {\n    c[i] = (a[i - 5] if 5 <= i && "
      "i < "
      "15) + 1f32 where i != 3\n  }\n}\n");
}

TEST(Memory, TheOtherSideOfASelectIsNotLoaded) {
  // Indices that are not chosen lie far outside of any mapping.
  expect_agrees(
      "function kernel(a: f32[10], c: f32[20], d: f32[24]) {\n"
      "  for i = 0 extent 20 { c[i] = select(i < 10, a[i * (1 + i // 10 * 100000000000)], -1f32) }\n"
      "  for j = 0 extent 3 {\n"
      "    d[ramp(j * 8, 1, 8)] = select(ramp(j * 8, 1, 8) < broadcast(10, 8), a[ramp(j * 8, 1, 8) + "
      "broadcast(j // 2 * 100000000000, 8)], broadcast(2f32, 8))\n  }\n}\n");
}

TEST(Memory, ScalarLoadsUnderAVectorSelectRunIfAnyLaneNeedsThem) {
  expect_agrees(
      "function kernel(a: f32[4], c: f32[32]) {\n  for i = 0 extent 4 {\n    c[ramp(i * 8, 1, 8)] = "
      "select(ramp(i * 8, 1, 8) < broadcast(12, 8), broadcast(a[i], 8), broadcast(a[3 - i], 8))\n  }\n}\n");
}

TEST(Memory, BlockedLayoutsOfUnflattenedBuffersAgree) {
  expect_agrees(
      "function kernel(a: f32[6, 20] layout \"0,1,1:8\", c: f32[20, 6]) {\n  for i = 0 extent 6 { for j = 0 "
      "extent 20 { "
      "c[j, i] = a[i, j] } }\n}\n");
}

TEST(Loops, EmptySingleAndDynamicExtentsAgree) {
  for (int64_t n : {0, 1, 5}) {
    for (const char* kind : {"", " parallel", " unrolled", " vectorized"}) {
      expect_agrees(absl::StrCat("function kernel[n](a: f32[n, 3], c: f32[n, 3]) {\n  for i = 0 extent n",
                                 kind, " { for j = 0 extent 3 { c[i, j] = a[i, j] * 2f32 } }\n}\n"),
                    {.dims = {n}, .threads = 2});
    }
  }
  expect_agrees(
      "function kernel(c: i64[10]) { for i = 3 extent 0 { c[i] = 0 } for i = 3 extent 1 { c[i] = i } }");
  expect_agrees(
      "function kernel(c: i64[64]) { for i = 1 extent 7 { for j = i extent i { c[i * 8 + j % 8] = j } } }");
}

TEST(Loops, IfElseAndLetAgree) {
  expect_agrees(
      "function kernel(a: i64[30], c: i64[30]) {\n  for i = 0 extent 30 {\n    let x = a[i] * 2\n    if x < "
      "0 {\n      "
      "c[i] = x\n    } else {\n      if i % 2 == 0 { c[i] = 0 - x }\n    }\n    a[i] = x + c[i]\n  }\n}\n");
}

TEST(Threads, EachWorkerHasItsSliceOfTheWorkspace) {
  const char* text =
      "function kernel(a: f32[8, 64], c: f32[8, 64]) {\n"
      "  allocate shared: f32[64]\n"
      "  for j = 0 extent 64 { shared[j] = a[0, j] + 1f32 }\n"
      "  for i = 0 extent 8 parallel {\n"
      "    allocate mine: f32[64]\n"
      "    allocate other: f32[64]\n"
      "    for j = 0 extent 64 { mine[j] = a[i, j] * 2f32 }\n"
      "    for j = 0 extent 64 { other[j] = mine[63 - j] }\n"
      "    for j = 0 extent 64 { c[i, j] = mine[j] + other[j] + shared[j] }\n"
      "  }\n}\n";
  for (int threads : {1, 2, 5}) expect_agrees(text, {.threads = threads});
  absl::StatusOr<ir::Function> function = ir::parse_function(text);
  ASSERT_TRUE(function.ok());
  absl::StatusOr<KernelCode> code = compile(*function, target::host_target());
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(code->workspace_bytes, 256u);
  EXPECT_EQ(code->workspace_per_thread_bytes, 512u);
}

TEST(Threads, LoopsNestAndSeeTheOutsideThroughTheClosure) {
  expect_agrees(
      "function kernel(a: f32[6, 5], c: f32[6, 5]) {\n"
      "  for k = 0 extent 2 {\n"
      "    let twice = k * 2\n"
      "    allocate scale: f32[4] register\n"
      "    for j = 0 extent 4 { scale[j] = cast<f32>(j + twice) }\n"
      "    for i = 0 extent 6 parallel {\n"
      "      for j = 0 extent 5 parallel { c[i, j] = a[i, j] * scale[j % 4] + cast<f32>(k) }\n"
      "    }\n"
      "    for i = 0 extent 1 parallel { allocate t: f32[2]\n      t[0] = c[0, 0]\n      a[5, 4] = t[0] }\n"
      "  }\n}\n",
      {.threads = 3});
}

TEST(Calls, AreCheckedBeforeAnythingIsTouched) {
  absl::StatusOr<ir::Function> function = ir::parse_function("function kernel(c: f32[4]) { c[3] = 1f32 }");
  ASSERT_TRUE(function.ok()) << function.status();
  absl::StatusOr<support::CompiledKernel> kernel = support::compile_for(*function, target::host_target());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  support::AlignedBytes small(12), fits(16), larger(20);
  auto call = [&](support::AlignedBytes* buffer) {
    support::AlignedBytes* buffers[] = {buffer};
    return support::call_kernel(*kernel, buffers);
  };
  EXPECT_EQ(call(&small), TF_KERNEL_SHORT_BUFFER);
  EXPECT_TRUE(small.guards_intact());
  EXPECT_EQ(call(&fits), TF_KERNEL_OK);
  EXPECT_EQ(call(&larger), TF_KERNEL_OK);
  EXPECT_EQ(support::call_kernel(*kernel, {}), TF_KERNEL_SHORT_BUFFER);
  tf_call old = {};
  old.abi_version = TF_ABI_VERSION + 1;
  EXPECT_EQ(kernel->kernel->entry()(&old), TF_KERNEL_BAD_ABI);
}

TEST(Calls, GpuConstructsAreRefusedByName) {
  auto refused = [](const char* text, const char* target_text, const char* part) {
    absl::StatusOr<ir::Function> function = ir::parse_function(text);
    ASSERT_TRUE(function.ok()) << function.status();
    absl::StatusOr<target::Target> target = target::parse_target(target_text);
    ASSERT_TRUE(target.ok());
    absl::StatusOr<KernelCode> code = compile(*function, *target);
    EXPECT_EQ(code.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(code.status().message().find(part), std::string::npos) << code.status();
  };
  refused("function kernel(c: f32[4]) { for i = 0 extent 4 thread_x { c[i] = 1f32 } }", "x86_64", "thread_x");
  refused("function kernel(c: f32[4]) { allocate s: f32[4] shared\n c[0] = 1f32 }", "x86_64",
          "'s' is in GPU memory");
  refused("function kernel(c: f32[4]) { c[0] = 1f32 }", "cuda:arch=sm_90", "is a GPU");
}

}  // namespace
}  // namespace tf::backends
