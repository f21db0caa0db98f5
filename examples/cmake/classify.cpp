// Classifies a picture, here of noise, with the model that CMakeLists.txt builds.
#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "digits/model.h"

namespace {

struct CloseModel {
  void operator()(digits_model* model) const { digits_close(model); }
};
using Model = std::unique_ptr<digits_model, CloseModel>;

void check(int32_t error) {
  if (error != TF_MODEL_OK) throw std::runtime_error(digits_error_text(error));
}

Model open_model(int threads) {
  digits_model* model = nullptr;
  check(digits_open(threads, &model));
  return Model(model);
}

std::vector<float> classify(digits_model* model, std::span<const float> picture) {
  std::vector<float> scores(digits_output(model, 0)->size_bytes / sizeof(float));
  const void* inputs[] = {picture.data()};
  void* outputs[] = {scores.data()};
  check(digits_run(model, inputs, outputs));
  return scores;
}

}  // namespace

int main() try {
  const Model model = open_model(1);
  std::vector<float> picture(digits_input(model.get(), 0)->size_bytes / sizeof(float));
  std::mt19937 random(1);
  std::ranges::generate(picture, [&] { return std::uniform_real_distribution<float>(0, 1)(random); });
  const std::vector<float> scores = classify(model.get(), picture);
  std::cout << "class " << std::ranges::max_element(scores) - scores.begin() << " of " << scores.size()
            << "\n";
} catch (const std::exception& error) {
  std::cerr << "classify: " << error.what() << "\n";
  return 1;
}
