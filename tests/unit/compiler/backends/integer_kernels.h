#pragma once
// Element-wise kernels of integers whose answers are right only if sums of data wrap and every division has a
// result: lowered by scalars and by vectors of which the last is cut off, and compared, at the ends of their
// types, with what they meant before any pass.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/passes/lower.h"
#include "compiler/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"

namespace tf::test {

struct IntegerKernel {
  std::string name;
  tensor::Element in, out;
  // Of the elements of both operands and their number.
  std::function<tensor::Expr(const tensor::Expr& x, const tensor::Expr& y, const tensor::Expr& i)> value;
};

inline void PrintTo(const IntegerKernel& kernel, std::ostream* out) {
  *out << kernel.name;
}

// Divisions, and what narrow types are widened for.
inline void add_kernels_of(tensor::Element element, std::vector<IntegerKernel>& all) {
  using tensor::Expr;
  const std::string type(tensor::element_name(element));
  const auto number = [element](double value) { return tensor::imm({element, 1}, value); };
  const auto add = [&](const char* name, std::function<Expr(const Expr&, const Expr&, const Expr&)> value) {
    all.push_back({absl::StrCat(name, "_", type), element, element, std::move(value)});
  };
  add("quotient", [](const Expr& x, const Expr& y, const Expr&) { return floor_div(x, y); });
  add("remainder", [](const Expr& x, const Expr& y, const Expr&) { return floor_mod(x, y); });
  add("quotient_by_more",
      [=](const Expr& x, const Expr& y, const Expr&) { return floor_div(x, max(y, number(1))); });
  add("quotient_by_nothing", [=](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(x, y - y) + floor_mod(x, min(max(y, number(0)), number(0)));
  });
  add("between", [=](const Expr& x, const Expr& y, const Expr&) {
    return select(x < y, max(x, number(5)), min(y, number(100))) + select(x <= number(9), y, x);
  });
  // By way of i64 and back, where what no i64 holds is another number.
  add("by_way_of_i64", [=](const Expr& x, const Expr& y, const Expr&) {
    const Expr a = tensor::cast(tensor::kIndex, x), b = tensor::cast(tensor::kIndex, y);
    const tensor::Type own{element, 1};
    return select(a < b, tensor::cast(own, max(a, tensor::imm(3))), tensor::cast(own, floor_div(b, 7)));
  });
  if (tensor::is_unsigned(element)) return;
  add("quotient_by_minus_one", [=](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(x, number(-1)) + floor_mod(y, number(-1));
  });
  add("quotient_of_magnitudes", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(abs(x), abs(y)) + floor_mod(-x, abs(y));
  });
  add("select_of_sums",
      [=](const Expr& x, const Expr& y, const Expr&) { return select(x < x + number(1), x, y); });
}

// What holds for indices, which do not overflow, and not for data.
inline void add_wide_kernels(std::vector<IntegerKernel>& all) {
  using tensor::Element;
  using tensor::Expr;
  using tensor::imm;
  const auto add = [&](const char* name, std::function<Expr(const Expr&, const Expr&, const Expr&)> value) {
    all.push_back({name, Element::kInt64, Element::kInt64, std::move(value)});
  };
  const auto add_float = [&](const char* name,
                             const std::function<Expr(const Expr&, const Expr&, const Expr&)>& value) {
    all.push_back(
        {name, Element::kInt64, Element::kFloat32, [=](const Expr& x, const Expr& y, const Expr& i) {
           return tensor::cast({Element::kFloat32, 1}, value(x, y, i));
         }});
  };
  add_float("clipped_magnitude",
            [](const Expr& x, const Expr&, const Expr&) { return min(abs(x), imm(100)); });
  add_float("clipped_from_the_lowest",
            [](const Expr& x, const Expr&, const Expr&) { return max(min(x, imm(100)), imm(INT64_MIN)); });
  add_float("truth", [](const Expr& x, const Expr& y, const Expr&) {
    return tensor::cast(tensor::kIndex, x + 1 <= y) * 2 + tensor::cast(tensor::kIndex, x <= imm(INT64_MAX));
  });
  add("blocks", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(x * 16 + 3, 16) - floor_div(y * 8, 16);
  });
  add("rest_of_blocks", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_mod(x * 12 + 5, 24) + floor_mod(y + 7, 6);
  });
  add("nested_rests", [](const Expr& x, const Expr&, const Expr& i) {
    return floor_mod(floor_mod(x, 12) * 4 + floor_mod(i, 4), 48);
  });
  add("nested_quotients", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(floor_div(x, 4) + 1, 2) + floor_div(floor_div(y + 9, 5), 3);
  });
  add("rejoined", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(x, 3) * 3 + floor_mod(x, 3) - floor_div(y - 1, 4) * 4 + y;
  });
  add("least_of_neighbours",
      [](const Expr& x, const Expr& y, const Expr&) { return min(x + 1, x + 2) - max(y - 1, y); });
  add("bounded_below", [](const Expr& x, const Expr&, const Expr&) {
    return floor_div(max(x, imm(7)) + 7, 7) + min(max(x, imm(7)) * 3, imm(9));
  });
  add("negative", [](const Expr& x, const Expr& y, const Expr&) {
    return floor_div(max(-max(x, imm(-5)), -max(y, imm(0))), 3) - min(-x, imm(4));
  });
  add("difference_below_zero",
      [](const Expr& x, const Expr& y, const Expr&) { return select(x - y < imm(0), x, y); });
  add("not_less",
      [](const Expr& x, const Expr& y, const Expr&) { return select(logical_not(x < y), x, y * 3); });
  add("both_less", [](const Expr& x, const Expr& y, const Expr&) {
    return select(logical_and(x < y + 1, x <= y), x * 5, y);
  });
  add("equal_multiples", [](const Expr& x, const Expr& y, const Expr&) {
    return select(equal(x * 2, y * 2), x, y) + select(not_equal(x + 5, y + 4), x, imm(1));
  });
  add("with_its_index", [](const Expr& x, const Expr& y, const Expr& i) {
    return select(x + i < imm(5), floor_mod(y + i, 8), floor_div(y * 64 + i, 64));
  });
  add("in_bounds", [](const Expr& x, const Expr& y, const Expr& i) {
    const Expr small = max(min(y, imm(7)), imm(0));
    return floor_div(small * 64 + i, 64) + x;
  });
  add("product", [](const Expr& x, const Expr& y, const Expr&) {
    return select(max(x, imm(1)) * max(y, imm(1)) < imm(1), x, y);
  });
}

inline std::vector<IntegerKernel> integer_kernels() {
  std::vector<IntegerKernel> all;
  for (const tensor::Element element :
       {tensor::Element::kInt8, tensor::Element::kUInt8, tensor::Element::kInt16, tensor::Element::kUInt16,
        tensor::Element::kInt32, tensor::Element::kUInt32, tensor::Element::kInt64, tensor::Element::kUInt64})
    add_kernels_of(element, all);
  add_wide_kernels(all);
  return all;
}

// For each of the targets (OracleOptions).
inline void expect_meaning_is_kept(const IntegerKernel& kernel, const std::vector<std::string>& targets) {
  SCOPED_TRACE(kernel.name);
  ops::Builder b;
  const std::vector<tensor::Expr> extents = {tensor::imm(50)};
  const tensor::Buffer x = b.input("x", kernel.in, extents), y = b.input("y", kernel.in, extents);
  const tensor::Buffer z = b.compute("z", kernel.out, extents, [&](ops::Indices i) {
    return kernel.value(ops::at(x, i), ops::at(y, i), i[0]);
  });
  const absl::StatusOr<tensor::Workload> workload = b.finish({z});
  ASSERT_TRUE(workload.ok()) << workload.status();
  const absl::StatusOr<schedule::Schedule> vectors =
      schedule::parse_schedule("schedule v1\nsplit t0 i0 8 guard\nannotate t0 i0.1 vectorize\n");
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  for (const schedule::Schedule& steps : {schedule::Schedule{}, *vectors}) {
    ir::Function meant;
    passes::LowerOptions options = {.verify_each = true};
    options.after = [&](std::string_view pass, const ir::Function& function) {
      if (pass == "build_loops") meant = function;
    };
    const absl::StatusOr<passes::Lowered> lowered = passes::lower(*workload, steps, {}, options);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    backends::expect_agrees_with(meant, lowered->function,
                                 {.targets = targets, .tolerance = 0, .edges = true});
  }
}

}  // namespace tf::test
