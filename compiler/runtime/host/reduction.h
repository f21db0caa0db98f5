#ifndef TF_RUNTIME_HOST_REDUCTION_H
#define TF_RUNTIME_HOST_REDUCTION_H
/* Owns: how scattered updates are combined with what is there. */
#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"

namespace tf::host {

/* What an update is combined with by min and max when one of the two is NaN. */
enum class NanRule {
  kKeeps,   /* NaN, as numpy.minimum */
  kIsEqual, /* the element stays, as Python's min: a NaN is neither less nor greater */
};

/* function(combine) with combine(element, update) → element, for a reduction that is not none. */
template <typename T, NanRule kRule, typename F>
int32_t with_reduction(int64_t reduction, F&& function) {
  const auto wins = [](Value<T> update, bool before) {
    if constexpr (kRule == NanRule::kKeeps) return before || update != update;
    return before;
  };
  switch (reduction) {
    case TF_HOST_REDUCE_ADD:
      return function([](T at, T update) { return element_of<T>(sum(value_of(at), value_of(update))); });
    case TF_HOST_REDUCE_MUL:
      return function([](T at, T update) { return element_of<T>(product(value_of(at), value_of(update))); });
    case TF_HOST_REDUCE_MIN:
      return function([&](T at, T update) {
        return wins(value_of(update), value_of(update) < value_of(at)) ? update : at;
      });
    case TF_HOST_REDUCE_MAX:
      return function([&](T at, T update) {
        return wins(value_of(update), value_of(update) > value_of(at)) ? update : at;
      });
  }
  return TF_MODEL_BAD_LIBRARY;
}

/* An index from the axis's end counts back. Negative where it lies outside. */
inline int64_t resolved(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  return index < extent ? index : -1;
}

}  // namespace tf::host

#endif
