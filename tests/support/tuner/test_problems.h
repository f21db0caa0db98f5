#pragma once
// Owns: small workloads that the tuner's tests share.

#include "base/check.h"
#include "compiler/tensor/workload.h"
#include "tuner/space/space.h"

namespace tf::test {

// relu(a[m, k] * b[k, n] + bias[n]) with constant b and bias.
inline tensor::Workload matmul_bias_relu(int64_t m, int64_t n, int64_t k) {
  using namespace tensor;  // NOLINT: the names of the language being written
  Workload workload;
  workload.label = "matmul+bias+relu";
  const Buffer a = buffer("a", Element::kFloat32, {imm(m), imm(k)});
  const Buffer b = buffer("b", Element::kFloat32, {imm(k), imm(n)});
  const Buffer bias = buffer("bias", Element::kFloat32, {imm(n)});
  workload.inputs = {{a, false}, {b, true}, {bias, true}};
  const Buffer product = buffer("product", Element::kFloat32, {imm(m), imm(n)});
  const Var i = var("i"), j = var("j"), r = var("r"), x = var("x"), y = var("y");
  workload.stages.push_back(Stage{
      product, {{i, imm(m)}, {j, imm(n)}}, {{r, imm(k)}}, Combiner::kSum, load(a, {i, r}) * load(b, {r, j})});
  const Buffer out = buffer("out", Element::kFloat32, {imm(m), imm(n)});
  workload.stages.push_back(
      Stage{out,
            {{x, imm(m)}, {y, imm(n)}},
            {},
            std::nullopt,
            max(load(product, {x, y}) + load(bias, {y}), imm(Type{Element::kFloat32}, 0))});
  workload.outputs = {out};
  TF_CHECK(verify(workload).ok()) << "the test's own workload is wrong";
  return workload;
}

inline tensor::KernelSpec matmul_problem(int64_t m, int64_t n, int64_t k) {
  return {matmul_bias_relu(m, n, k), {}, {}};
}

}  // namespace tf::test
