// Windows, spectra and Fourier transforms. Windows and weights are tables that are computed while importing; transforms
// are matrix products, of long axes in factors.
#include <array>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/rules/signal/fourier.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using tensor::Expr;
using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

constexpr int64_t kLongest = int64_t{1} << 28;  // more than any constant that may be made

Term of_output_type(Formula& f, const Ints& shape, const std::vector<double>& values) {
  const int64_t type = f.attribute("output_datatype", int64_t{1});
  const absl::StatusOr<Element> element = element_from_onnx(static_cast<int32_t>(type));
  if (!element.ok())
    return f.unsupported(absl::StrCat("attribute 'output_datatype': ", element.status().message()));
  return cast(f.floats(shape, values, Element::kFloat64), *element);
}

// a0 - a1 * cos(t) + a2 * cos(2t), t in steps of 2 pi over the size, or over one less if the window is symmetric.
Result window(NodeReader& node, double a0, double a1, double a2) {
  Formula f(node);
  const int64_t size = f.known_int(0, "size");
  const bool periodic = f.attribute("periodic", int64_t{1}) != 0;
  if (!f.ok()) return f.status();
  if (size < 0 || size > kLongest) return node.invalid(absl::StrCat("its size is ", size));
  std::vector<double> values(static_cast<size_t>(size));
  const double step = 2 * std::numbers::pi / static_cast<double>(periodic ? size : size - 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const double t = step * static_cast<double>(i);
    values[i] = a0 - a1 * std::cos(t) + a2 * std::cos(2 * t);
  }
  return f.result(of_output_type(f, {size}, values));
}
Result hann_window(NodeReader& node) {
  return window(node, 0.5, 0.5, 0);
}
Result hamming_window(NodeReader& node) {
  return window(node, 25.0 / 46, 1 - 25.0 / 46, 0);
}
Result blackman_window(NodeReader& node) {
  return window(node, 0.42, 0.5, 0.08);
}

// Triangles over the bins of a spectrum, whose corners are at even distances in mel.
Result mel_weight_matrix(NodeReader& node) {
  Formula f(node);
  const int64_t bands = f.known_int(0, "number of bands"), length = f.known_int(1, "transform's length"),
                rate = f.known_int(2, "sample rate");
  const double lower = f.known_float(3, "lower edge"), upper = f.known_float(4, "upper edge");
  if (!f.ok()) return f.status();
  if (bands < 1 || bands > 1 << 20 || length < 1 || length > 1 << 24 || rate < 1)
    return node.invalid(
        absl::StrCat("it has ", bands, " bands, a transform of ", length, " and a rate of ", rate));
  const int64_t bins = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(upper) - mel(lower)) / static_cast<double>(bands + 2);
  Ints corners(static_cast<size_t>(bands) + 2);
  for (size_t i = 0; i < corners.size(); ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(lower)) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins)))
      return node.invalid("its edges are not frequencies of the spectrum");
    corners[i] = static_cast<int64_t>(bin);
  }
  if (bins > kLongest / bands) return node.invalid("it has too many weights");
  std::vector<double> weights(static_cast<size_t>(bins * bands));
  for (int64_t band = 0; band < bands; ++band) {
    const auto at = static_cast<size_t>(band);
    const int64_t left = corners[at], center = corners[at + 1], right = corners[at + 2];
    const auto weight = [&](int64_t bin) -> double& {
      return weights[static_cast<size_t>(bin * bands + band)];
    };
    if (left == center) weight(center) = 1;
    for (int64_t bin = left; bin <= center && left < center; ++bin)
      weight(bin) = static_cast<double>(bin - left) / static_cast<double>(center - left);
    for (int64_t bin = center; bin < right; ++bin)
      weight(bin) = static_cast<double>(right - bin) / static_cast<double>(right - center);
  }
  return f.result(of_output_type(f, {bins, bands}, weights));
}

// Real and imaginary parts of x, which has them, or the former alone, along its last axis.
Complex parts_of(const Term& x) {
  const int64_t last = x.rank() - 1;
  std::vector<Expr> extents = x.extents();
  extents.pop_back();
  const auto part = [&](int64_t i) { return reshape(slice(x, last, i, 1), extents); };
  if (x.shape().back() == 1) return {part(0), std::nullopt};
  return {part(0), part(1)};
}

bool is_complex(const Term& x) {
  return x.shape().back() == 1 || x.shape().back() == 2;
}

// x [rows, n] zero-padded or cut off to `length`.
Term fitted(const Term& x, int64_t length) {
  if (!x.formula().ok()) return x;
  const int64_t n = x.shape()[1];
  return n < length ? pad(x, 1, 0, length - n) : slice(x, 1, 0, length);
}

// The parts of both, of `bins` columns, along a new last axis.
Term interleaved(const Complex& y, int64_t bins, std::vector<Expr> extents) {
  const auto column = [&](const Term& part) {
    Term cut = slice(part, 1, 0, bins);
    std::vector<Expr> one = cut.extents();
    one.push_back(tensor::imm(1));
    return reshape(cut, std::move(one));
  };
  if (!y.real.formula().ok()) return y.real;
  extents.push_back(tensor::imm(2));
  return reshape(concat(std::vector<Term>{column(y.real), column(*y.imaginary)}, 2), std::move(extents));
}

Result dft(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const bool inverse = f.attribute("inverse", int64_t{0}) != 0;
  const bool onesided = f.attribute("onesided", int64_t{0}) != 0;
  int64_t axis = node.opset() < 20 ? f.attribute("axis", int64_t{1}) : -2;
  if (node.opset() >= 20 && f.has(2)) axis = f.known_int(2, "axis");
  axis = f.axis(axis, given.rank());
  if (!f.ok()) return f.status();
  if (axis == given.rank() - 1 || !is_complex(given))
    return node.invalid(
        absl::StrCat("axis ", axis, " of ", to_string(given.type()), " cannot be transformed"));
  if (inverse && onesided) return node.unsupported("an inverse of one side is not supported");
  const int64_t length = f.has(1) ? f.known_int(1, "length") : given.shape()[static_cast<size_t>(axis)];
  if (!f.ok()) return f.status();
  if (length < 1 || length > kLongest) return node.invalid(absl::StrCat("its length is ", length));
  // The axis goes behind the others.
  Ints perm, back(static_cast<size_t>(given.rank()) - 1);
  std::vector<Expr> others;
  for (int64_t d = 0; d + 1 < given.rank(); ++d) {
    if (d == axis) continue;
    back[static_cast<size_t>(d)] = static_cast<int64_t>(perm.size());
    perm.push_back(d);
    others.push_back(given.extents()[static_cast<size_t>(d)]);
  }
  back[static_cast<size_t>(axis)] = static_cast<int64_t>(perm.size());
  perm.push_back(axis);
  back.push_back(given.rank() - 1);
  const auto rows = [&](const Term& part) {
    const Expr extent = given.extents()[static_cast<size_t>(axis)];
    return fitted(reshape(transpose(part, perm), std::vector<Expr>{product(others), extent}), length);
  };
  Complex x = parts_of(widened(given));
  x.real = rows(x.real);
  if (x.imaginary) x.imaginary = rows(*x.imaginary);
  const int64_t bins = onesided ? length / 2 + 1 : length;
  others.push_back(tensor::imm(bins));
  const Term y = interleaved(fourier(x, length, inverse), bins, others);
  return f.result(cast(transpose(y, back), given.element()));
}

Result stft(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const int64_t step = f.known_int(1, "frame step");
  const bool onesided = f.attribute("onesided", int64_t{1}) != 0;
  if (!f.ok()) return f.status();
  if (given.rank() < 2 || given.rank() > 3 || (given.rank() == 3 && !is_complex(given)))
    return node.invalid("its signal is " + to_string(given.type()));
  const int64_t whole = given.shape()[1];
  int64_t length = whole;
  if (f.has(2) && f.input(2).rank() == 1) length = f.input(2).shape()[0];
  if (f.has(3)) length = f.known_int(3, "frame length");
  if (!f.ok()) return f.status();
  if (f.has(2) && (f.input(2).rank() != 1 || f.input(2).shape()[0] != length))
    return node.invalid(absl::StrCat("a window ", to_string(f.input(2).type()), " for frames of ", length));
  if (step < 1 || length < 1 || length > whole)
    return node.invalid(absl::StrCat("frames of ", length, " at a distance of ", step, " in ", whole));
  const int64_t frames = 1 + (whole - length) / step;
  if (frames > kLongest / length) return node.invalid("it has too many frames");
  Ints places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i) places.push_back(frame * step + i);
  const Term taken = f.integers({frames, length}, places, Element::kInt64);
  const Expr batch = given.extents()[0];
  const auto rows = [&](const Term& part) {
    Term cut = gather(part, taken, 1);
    if (f.has(2)) cut = cut * cast(f.input(2), cut.element());
    return reshape(cut, std::vector<Expr>{batch * frames, tensor::imm(length)});
  };
  const Term signal = widened(given);
  Complex x = signal.rank() == 2 ? Complex{signal, std::nullopt} : parts_of(signal);
  x.real = rows(x.real);
  if (x.imaginary) x.imaginary = rows(*x.imaginary);
  const int64_t bins = onesided ? length / 2 + 1 : length;
  const Term y =
      interleaved(fourier(x, length, false), bins, {batch, tensor::imm(frames), tensor::imm(bins)});
  return f.result(cast(y, given.element()));
}

constexpr std::array kSignalRules = {
    NamedRule{"BlackmanWindow", blackman_window},    NamedRule{"DFT", dft},
    NamedRule{"HammingWindow", hamming_window},      NamedRule{"HannWindow", hann_window},
    NamedRule{"MelWeightMatrix", mel_weight_matrix}, NamedRule{"STFT", stft}};

}  // namespace

std::span<const NamedRule> signal_rules() {
  return kSignalRules;
}

}  // namespace tf::onnx
