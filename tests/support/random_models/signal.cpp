// Windows and Fourier transforms.
#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

void window(RandomModel& m) {
  auto& node = m.node(m.pick({"HannWindow", "HammingWindow", "BlackmanWindow"}),
                      {m.whole(m.type("li"), {}, {m.between(1, 17)}, !m.one_in(20))});
  if (m.flip()) set(node, "periodic", m.below(2));
  if (m.flip()) set(node, "output_datatype", m.type("fd"));
}

void dft(RandomModel& m) {
  const int64_t parts = m.between(1, 2), extent = m.between(1, 12);
  const int type = m.type("fd");
  const std::string x = m.operand(type, {m.between(1, 3), extent, m.extent(3), parts});
  std::vector<std::string> inputs = {x};
  const int64_t axis = m.between(1, 2);
  if (m.one_in(3)) inputs.push_back(m.whole(7, {}, {m.between(1, 12)}, true));
  if (m.opset() >= 20) {
    inputs.resize(2);
    inputs.push_back(m.whole(7, {}, {axis}, true));
  }
  auto& node = m.node("DFT", inputs);
  if (m.opset() < 20) set(node, "axis", axis);
  if (parts == 1 && m.flip())
    set(node, "onesided", 1);
  else if (m.flip())
    set(node, "inverse", 1);
}

void stft(RandomModel& m) {
  const int64_t frame = m.between(2, 8), step = m.between(1, 4);
  const int type = m.type("fd");
  std::vector<std::string> inputs = {m.operand(type, {m.between(1, 2), frame + m.below(20), 1}),
                                     m.whole(7, {}, {step}, true)};
  const bool has_window = m.flip();
  inputs.push_back(has_window ? m.constant(type, {frame}, Fill::kUnit) : "");
  if (!has_window || m.flip()) inputs.push_back(m.whole(7, {}, {frame}, true));
  auto& node = m.node("STFT", inputs);
  if (m.flip()) set(node, "onesided", m.below(2));
}

void mel(RandomModel& m) {
  const std::string bins = m.whole(7, {}, {m.between(2, 8)}, true),
                    length = m.whole(7, {}, {m.pick(Shape{16, 32, 64})}, true);
  const std::string rate = m.whole(7, {}, {m.pick(Shape{8000, 16000})}, true),
                    low = m.reals(1, {}, {m.real(0, 200)}, true);
  auto& node =
      m.node("MelWeightMatrix", {bins, length, rate, low, m.reals(1, {}, {m.real(1000, 4000)}, true)});
  if (m.one_in(3)) set(node, "output_datatype", m.type("fd"));
}

}  // namespace

RandomOperators signal_operators() {
  return {{"Window", 17, window}, {"DFT", 17, dft}, {"STFT", 17, stft}, {"MelWeightMatrix", 17, mel}};
}

}  // namespace tf::onnx
