#pragma once
// Owns: a measurement as the message that describes it to people. Does not know: which one is asked for.

#include "database/record.h"
#include "proto/tune/v1/report.pb.h"
#include "tuner/report/kernels.h"

namespace tf::report {

// Of a kernel of which that is known. Texts are those that a screen may show. Numbers that are none become 0, infinite ones the greatest.
tunefarm::tune::v1::Candidate candidate_of(const database::Measurement& measurement,
                                           const KernelFacts& kernel);

// What JSON and sums can hold.
double finite(double value);

}  // namespace tf::report
