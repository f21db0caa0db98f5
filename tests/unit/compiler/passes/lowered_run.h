#pragma once
// Runs a lowered workload in the interpreter and compares it with the workload's definition.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/passes/lower.h"

namespace tf::test {

// Lowers, checks the IR (verify, text round trip) and compares every output with the evaluator's; fails the
// test where they differ. `context` is added to the message.
void check_schedule(const tensor::Workload& workload, const schedule::Schedule& schedule,
                    const tensor::PortLayouts& ports, uint64_t seed, const std::string& context,
                    const passes::Pipeline& pipeline = passes::cpu_pipeline());

// Runs what lowering made of the workload for those values of its named dimensions, and compares as above.
void check_run(const tensor::Workload& workload, const passes::Lowered& lowered,
               const schedule::Schedule& schedule, const tensor::Binding& binding, uint64_t seed);

// Of an environment variable.
uint64_t number_of(const char* variable, uint64_t otherwise);

}  // namespace tf::test
