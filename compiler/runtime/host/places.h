#ifndef TF_RUNTIME_HOST_PLACES_H
#define TF_RUNTIME_HOST_PLACES_H
/* Owns: walking over a tensor's places. */
#include <stdint.h>

namespace tf::host {

/* The most axes of a tensor whose places are counted by axis. */
constexpr int32_t kMostAxes = 32;

/* How far apart neighbours along each axis are stored. */
inline void row_major(const int64_t* extents, int32_t rank, int64_t* strides) {
  int64_t stride = 1;
  for (int32_t d = rank; d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
}

/* The places of `rank` axes in row-major order, none of which has extent 0, each stored by the given strides. */
class Walk {
 public:
  Walk(const int64_t* extents, int32_t rank, const int64_t* strides)
      : extents_(extents), strides_(strides), rank_(rank) {
    for (int32_t d = 0; d < rank; ++d) at_[d] = 0;
  }

  int64_t place() const { return place_; }
  int64_t at(int32_t axis) const { return at_[axis]; }

  /* False after the last. */
  bool next() {
    for (int32_t d = rank_; d-- > 0;) {
      place_ += strides_[d];
      if (++at_[d] < extents_[d]) return true;
      place_ -= strides_[d] * extents_[d];
      at_[d] = 0;
    }
    return false;
  }

 private:
  const int64_t* extents_;
  const int64_t* strides_;
  int32_t rank_;
  int64_t at_[kMostAxes];
  int64_t place_ = 0;
};

}  // namespace tf::host

#endif
