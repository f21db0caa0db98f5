#include "device_agent/worker/answers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/runtime/model.h"

namespace tf::worker {
namespace {

constexpr double kTiny = 1e-10;

double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  double value = 0;
  if (exponent == 31) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else {
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

double bfloat_to_double(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <typename T>
T element_at(const char* bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(index) * sizeof(T), sizeof value);
  return value;
}

template <typename T>
double load(const char* bytes, int64_t index) {
  return static_cast<double>(element_at<T>(bytes, index));
}

using Load = double (*)(const char*, int64_t);

Load loader(int32_t element) {
  switch (element) {
    case TF_ELEMENT_FLOAT16:
      return [](const char* b, int64_t i) { return half_to_double(element_at<uint16_t>(b, i)); };
    case TF_ELEMENT_BFLOAT16:
      return [](const char* b, int64_t i) { return bfloat_to_double(element_at<uint16_t>(b, i)); };
    case TF_ELEMENT_FLOAT64:
      return load<double>;
    case TF_ELEMENT_INT64:
      return load<int64_t>;
    case TF_ELEMENT_UINT64:
      return load<uint64_t>;
    case TF_ELEMENT_INT32:
      return load<int32_t>;
    case TF_ELEMENT_UINT32:
      return load<uint32_t>;
    case TF_ELEMENT_INT16:
      return load<int16_t>;
    case TF_ELEMENT_UINT16:
      return load<uint16_t>;
    case TF_ELEMENT_INT8:
      return load<int8_t>;
    case TF_ELEMENT_BOOL:
    case TF_ELEMENT_UINT8:
      return load<uint8_t>;
    default:
      return load<float>;
  }
}

bool is_integer(int32_t element) {
  return element < TF_ELEMENT_FLOAT16 || element > TF_ELEMENT_FLOAT64;
}

int64_t element_count(const Tensor& tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.extents) count *= extent;
  return count;
}

std::string coordinates(const Tensor& tensor, int64_t index) {
  std::vector<int64_t> at(tensor.extents.size());
  for (size_t d = at.size(); d-- > 0; index /= tensor.extents[d]) at[d] = index % tensor.extents[d];
  return absl::StrCat("[", absl::StrJoin(at, ","), "]");
}

struct Errors {
  int64_t wrong = 0;
  int64_t first = -1;
  double max_error = 0;
};

// The loads are template parameters or function pointers: the usual case, all float, is inlined.
template <typename LoadY, typename LoadRef, typename LoadMagnitude>
Errors compare_real(int64_t count, LoadY y_at, LoadRef ref_at, LoadMagnitude magnitude_at, double tolerance) {
  Errors errors;
  for (int64_t i = 0; i < count; ++i) {
    const double y = y_at(i), ref = ref_at(i), magnitude = std::abs(magnitude_at(i));
    const double difference = std::abs(y - ref);
    // A NaN anywhere makes the comparison false; an infinity must be the same one.
    if (difference <= tolerance * magnitude + kTiny && std::isfinite(difference)) {
      if (magnitude > kTiny) errors.max_error = std::max(errors.max_error, difference / magnitude);
      continue;
    }
    if (y == ref || (std::isnan(y) && std::isnan(ref))) continue;
    if (magnitude > kTiny && std::isfinite(difference)) {
      errors.max_error = std::max(errors.max_error, difference / magnitude);
    }
    if (errors.wrong++ == 0) errors.first = i;
  }
  return errors;
}

Errors compare_tensor(const Tensor& y, const Tensor& ref, const Tensor& magnitude, double tolerance) {
  const int64_t count = element_count(y);
  const char *y_bytes = y.bytes.data(), *ref_bytes = ref.bytes.data(),
             *magnitude_bytes = magnitude.bytes.data();
  auto floats = [](const char* bytes) { return [bytes](int64_t i) { return load<float>(bytes, i); }; };
  auto any = [](const char* bytes, Load at) { return [bytes, at](int64_t i) { return at(bytes, i); }; };
  if (is_integer(y.element)) {
    const bool same = y.element == ref.element;
    Errors errors;
    const Load y_at = loader(y.element), ref_at = loader(ref.element);
    const size_t width = y.bytes.size() / static_cast<size_t>(std::max<int64_t>(count, 1));
    for (int64_t i = 0; i < count; ++i) {
      const size_t offset = static_cast<size_t>(i) * width;
      const bool equal = same ? std::memcmp(y_bytes + offset, ref_bytes + offset, width) == 0
                              : y_at(y_bytes, i) == ref_at(ref_bytes, i);
      if (!equal && errors.wrong++ == 0) errors.first = i;
    }
    return errors;
  }
  if (y.element == TF_ELEMENT_FLOAT32 && ref.element == TF_ELEMENT_FLOAT32 &&
      magnitude.element == TF_ELEMENT_FLOAT32) {
    return compare_real(count, floats(y_bytes), floats(ref_bytes), floats(magnitude_bytes), tolerance);
  }
  return compare_real(count, any(y_bytes, loader(y.element)), any(ref_bytes, loader(ref.element)),
                      any(magnitude_bytes, loader(magnitude.element)), tolerance);
}

std::string cache_key(std::string_view digest, uint64_t seed) {
  return absl::StrCat(absl::string_view(digest.data(), digest.size()), "/", seed);
}

}  // namespace

uint64_t Expected::size_bytes() const {
  uint64_t total = 0;
  for (const auto* tensors : {&outputs, &magnitudes}) {
    for (const Tensor& tensor : *tensors) total += tensor.bytes.size();
  }
  return total;
}

std::vector<Tensor> read_outputs(const sandbox::Job& job, const uint8_t* memory, bool last) {
  std::vector<Tensor> outputs;
  for (uint32_t p = 0; p < job.port_count; ++p) {
    const sandbox::PortJob& port = job.ports[p];
    if (port.role != sandbox::Role::kOutput) continue;
    Tensor tensor = {
        .element = port.element, .extents = {port.extents, port.extents + port.rank}, .bytes = {}};
    const uint8_t* physical = memory + port.result_offset + (last ? port.size_bytes : 0);
    tensor.bytes.resize(port.logical_bytes);
    if (port.row_major) {
      std::memcpy(tensor.bytes.data(), physical, port.logical_bytes);
    } else {
      tf_layout_unpack(&port.layout, port.extents, port.rank, port.element_bytes, physical,
                       tensor.bytes.data());
    }
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

bool is_poisoned(const Tensor& tensor) {
  if (is_integer(tensor.element)) return false;
  const size_t width = tensor.bytes.size() / static_cast<size_t>(std::max<int64_t>(element_count(tensor), 1));
  size_t ones = 0;  // bytes of all ones at the end of the element so far
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    ones = tensor.bytes[i] == '\xff' ? ones + 1 : 0;
    if ((i + 1) % width != 0) continue;
    if (ones >= width) return true;
    ones = 0;
  }
  return false;
}

absl::Status check_magnitudes(const Expected& expected) {
  for (size_t o = 0; o < expected.outputs.size(); ++o) {
    const Tensor &ref = expected.outputs[o], &magnitude = expected.magnitudes[o];
    if (is_integer(ref.element)) continue;
    const Load ref_at = loader(ref.element), magnitude_at = loader(magnitude.element);
    for (int64_t i = 0; i < element_count(ref); ++i) {
      const double bound = magnitude_at(magnitude.bytes.data(), i), answer = ref_at(ref.bytes.data(), i);
      if (std::isfinite(bound) || !std::isfinite(answer)) continue;
      return absl::FailedPreconditionError(absl::StrCat("the reference's output ", o, coordinates(ref, i),
                                                        " is ", answer, ", but its magnitude is ", bound,
                                                        ": answers cannot be checked against it"));
    }
  }
  return absl::OkStatus();
}

Verdict compare(const std::vector<Tensor>& outputs, const Expected& expected, double tolerance,
                const std::vector<std::string>& names) {
  Verdict verdict;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Tensor &y = outputs[o], &ref = expected.outputs[o], &magnitude = expected.magnitudes[o];
    const Errors errors = compare_tensor(y, ref, magnitude, tolerance);
    verdict.max_error = std::max(verdict.max_error, errors.max_error);
    if (errors.wrong == 0 || !verdict.right) continue;
    verdict.right = false;
    const double allowed =
        is_integer(y.element)
            ? 0
            : tolerance * std::abs(loader(magnitude.element)(magnitude.bytes.data(), errors.first));
    verdict.detail =
        absl::StrCat("output '", names[o], "'", coordinates(y, errors.first), " is ",
                     loader(y.element)(y.bytes.data(), errors.first), ", the reference gives ",
                     loader(ref.element)(ref.bytes.data(), errors.first), " with tolerance ", allowed, "; ",
                     errors.wrong, " of ", element_count(y), " elements are wrong");
  }
  return verdict;
}

std::shared_ptr<const Expected> AnswerCache::find(std::string_view digest, uint64_t seed) {
  const auto found = index_.find(cache_key(digest, seed));
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->expected;
}

bool AnswerCache::contains(std::string_view digest, uint64_t seed) const {
  return index_.contains(cache_key(digest, seed));
}

void AnswerCache::insert(std::string_view digest, uint64_t seed, std::shared_ptr<const Expected> expected) {
  const std::string key = cache_key(digest, seed);
  if (index_.contains(key)) return;
  used_bytes_ += expected->size_bytes();
  entries_.push_front({key, std::move(expected)});
  index_[key] = entries_.begin();
  while (used_bytes_ > limit_bytes_ && entries_.size() > 1) {
    used_bytes_ -= entries_.back().expected->size_bytes();
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace tf::worker
