#pragma once
// Owns: a workload under construction, to which operators append stages. Does not know: any operator.
//
//   Builder b;
//   Buffer x = b.input("x", Element::kFloat32, {imm(1), imm(64), imm(56), imm(56)});
//   Buffer w = b.constant("w", Element::kFloat32, {imm(64), imm(64), imm(3), imm(3)});
//   Buffer y = relu(b, conv(b, x, w, {.strides = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}}));
//   absl::StatusOr<Workload> workload = b.finish({y});  // label "conv2d+relu"
//
// Operands that do not fit an operator are remembered, so that calls can be nested: the operator returns a
// scalar placeholder, further operators do nothing, and finish returns the first error.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/workload.h"

namespace tf::ops {

using tensor::Buffer;
using tensor::Combiner;
using tensor::Element;
using tensor::Expr;
using tensor::Type;
using tensor::Workload;

// The values of the axes' variables, in order.
using Indices = std::span<const Expr>;

// What test inputs are drawn from.
struct Domain {
  double low = -1.0;
  double high = 1.0;
};

class Builder {
 public:
  // A named dimension that extents may use. Those that nothing uses are left out of the workload.
  void dimension(const tensor::Dimension& dimension);
  Buffer input(std::string name, Element element, std::vector<Expr> extents, Domain domain = {});
  // An input whose value is known when a model is built.
  Buffer constant(std::string name, Element element, std::vector<Expr> extents, Domain domain = {});

  // Appends the stage name[i…] = body(i…).
  Buffer compute(std::string name, Element element, std::vector<Expr> extents,
                 const std::function<Expr(Indices i)>& body);
  // Appends the stage name[i…] = combiner over r… of body(i…, r…). Without reduce extents it is compute.
  Buffer reduce(std::string name, Element element, std::vector<Expr> extents,
                std::vector<Expr> reduce_extents, Combiner combiner,
                const std::function<Expr(Indices i, Indices r)>& body);

  // Adds an operator's name to the workload's label.
  void label(std::string_view part);
  // Remembers the first error ("OPERATOR: what is wrong") and returns a placeholder.
  Buffer fail(std::string_view op, std::string_view message);
  bool failed() const { return !status_.ok(); }

  // The workload, verified; leaves the builder empty. INVALID_ARGUMENT: the first operator's error.
  absl::StatusOr<Workload> finish(std::vector<Buffer> outputs);

 private:
  Buffer placeholder_input(std::string name, Element element, std::vector<Expr> extents, bool constant,
                           Domain domain);
  Workload workload_;
  absl::Status status_;
};

// --- For operators.

// x[indices].
Expr at(const Buffer& x, std::vector<Expr> indices);
Expr at(const Buffer& x, Indices indices);
// A constant of x's element type.
Expr constant_like(const Buffer& x, double value);
// Whether two extents are the same for every binding.
bool same_extent(const Expr& a, const Expr& b);
// "f32[1, 3, 224, 224]".
std::string describe(const Buffer& x);
// What products are summed in: f32 for f16 and bf16, i32 for i8 and u8, else the element itself.
Element accumulator(Element element);
// x rounded to the element, as a stage of its own; x itself if it has that element.
Buffer round_to(Builder& b, const Buffer& x, Element element);

}  // namespace tf::ops
