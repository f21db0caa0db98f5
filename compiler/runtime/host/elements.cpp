#include "compiler/runtime/host/elements.h"

#include "compiler/runtime/narrow.h"

namespace tf::host {

template <>
Float16 element_of<Float16>(float value) {
  Float16 element;
  tf_narrow(TF_ELEMENT_FLOAT16, 1, &value, &element.bits);
  return element;
}

template <>
Bfloat16 element_of<Bfloat16>(float value) {
  Bfloat16 element;
  tf_narrow(TF_ELEMENT_BFLOAT16, 1, &value, &element.bits);
  return element;
}

}  // namespace tf::host
