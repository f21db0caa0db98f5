#pragma once
// Owns: formulas over the choices of a sketch as a straight-line program, run for a batch of points at a
// time: one register holds one value of each point of the batch. Does not know: what the formulas mean.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/formulas/value.h"
#include "tuner/space/space.h"

namespace tf::model {

class PointProgram {
 public:
  static constexpr size_t kBatch = 64;  // points; a few hundred registers of it fit a second-level cache

  // The program that computes `outputs`, values of `formulas` or constants. It keeps nothing of its
  // arguments.
  PointProgram(const space::Sketch& sketch, Formulas& formulas, std::span<const Value> outputs);

  // For each point p, results[p * outputs + i] becomes its output number i. Points must have one valid choice
  // for each sketch parameter, and there must be all parameters that the outputs depend on. Thread-safe.
  void run(std::span<const space::Point* const> points, std::span<double> results,
           std::span<const double> parameters = {}) const;

  size_t outputs() const { return outputs_; }
  size_t instructions() const { return instructions_.size(); }
  size_t registers() const { return registers_; }

 private:
  friend class PointProgramBuilder;
  struct Instruction {
    Op op = Op::kConstant;
    bool stores = false;  // the result is output number `out`, and no register's
    uint32_t out = 0;
    uint32_t operands[3] = {0, 0, 0};  // of kPart: sketch parameter and table
  };
  struct Parameter {
    size_t place, number;
  };
  struct Batch;
  static void execute(const PointProgram& program, Batch& batch);

  size_t outputs_ = 0, registers_ = 0, sketch_parameters_ = 0;
  std::vector<double> constants_;      // of the first registers
  std::vector<Parameter> parameters_;  // of the next ones
  std::vector<std::vector<double>> tables_;
  std::vector<Instruction> instructions_;
};

}  // namespace tf::model
