// The method of Box and Muller: two uniform numbers give two normal ones. With its own logarithm, sine and cosine, as the
// runtime needs libc alone, and devices agree.
#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/random_words.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// Of a normal number above 0: m 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)).
double logarithm(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int32_t exponent = static_cast<int32_t>(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffff) | uint64_t{1023} << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m >= 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1) / (m + 1), square = t * t;
  double series = 0;
  for (int n = 23; n >= 1; n -= 2) series = series * square + 1.0 / n;
  return exponent * 0x1.62e42fefa39efp-1 + 2 * t * series;
}

// Of 2 pi turn, for a turn in [0, 1): of at most an eighth from the next quarter, by Taylor's series.
void sine_and_cosine(double turn, double* sine, double* cosine) {
  const auto quarter = static_cast<int32_t>(turn * 4 + 0.5);
  const double x = (turn - quarter * 0.25) * 0x1.921fb54442d18p+2, square = x * x;
  double s = 1, c = 1;
  for (int n = 16; n >= 2; n -= 2) {
    s = 1 - s * square / (n * (n + 1));
    c = 1 - c * square / (n * (n - 1));
  }
  s *= x;
  const double sines[] = {s, c, -s, -c}, cosines[] = {c, -s, -c, s};
  *sine = sines[quarter % 4];
  *cosine = cosines[quarter % 4];
}

}  // namespace
}  // namespace tf::host

int32_t tf_host_random_normal(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor y = tf_host_tensor_at(&arguments, 1);
  const RandomStream random(arguments.attributes[0], *static_cast<const int64_t*>(call->buffers[0]));
  const double mean = tf_host_float(arguments.attributes[1]), scale = tf_host_float(arguments.attributes[2]);
  const int64_t count = tf_host_elements(&y, 0, y.rank);
  return with_float(y.element, [&](auto element) {
    using T = decltype(element);
    T* all = static_cast<T*>(y.data);
    for (int64_t i = 0; i < count; i += 2) {
      const RandomWords words = random.at(i / 2);
      // 1 - u is above 0.
      const double radius = __builtin_sqrt(-2 * logarithm(1 - words.uniform(0)));
      double normal[2];
      sine_and_cosine(words.uniform(1), &normal[0], &normal[1]);
      for (int half = 0; half < 2 && i + half < count; ++half)
        all[i + half] = rounded<T>(mean + scale * radius * normal[half]);
    }
    return 0;
  });
}
