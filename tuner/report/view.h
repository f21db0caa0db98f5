#pragma once
// Owns: what each question is answered from, as of one moment. Does not know: the questions.

#include "database/store.h"
#include "tuner/report/columns.h"
#include "tuner/report/kernels.h"

namespace tf::report {

struct View {
  database::Records& records;
  const Columns& columns;
  Kernels& kernels;
};

}  // namespace tf::report
