// Einsum and Fourier transforms against sums over all places.
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "tests/support/onnx/node_outputs.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

Doubles whole_values(size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Doubles values(count);
  for (double& v : values) v = static_cast<double>(static_cast<int64_t>(generator() % 9)) - 4;
  return values;
}

// The sum over every index of the products, by the equation with letters alone; sizes by letter.
Doubles by_loops(const std::vector<std::string>& terms, const std::string& result,
                 const std::map<char, int64_t>& sizes, const std::vector<Doubles>& operands) {
  std::map<char, int64_t> at;
  for (const auto& [letter, size] : sizes) at[letter] = 0;
  const auto offset = [&](const std::string& letters) {
    int64_t place = 0;
    for (char c : letters) place = place * sizes.at(c) + at.at(c);
    return static_cast<size_t>(place);
  };
  size_t count = 1;
  for (char c : result) count *= static_cast<size_t>(sizes.at(c));
  Doubles sums(count);
  while (true) {
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i) product *= operands[i][offset(terms[i])];
    sums[offset(result)] += product;
    auto next = at.begin();
    while (next != at.end() && ++next->second == sizes.at(next->first)) (next++)->second = 0;
    if (next == at.end()) return sums;
  }
}

TEST(Einsum, AgreesWithLoops) {
  // What the model says, and the same with letters alone; the letters' sizes are 2, 3, 4, … from i on.
  const std::pair<const char*, const char*> equations[] = {{"ij,jk->ik", "ij,jk->ik"},
                                                           {"ij,jk", "ij,jk->ik"},
                                                           {"ij->ji", "ij->ji"},
                                                           {"ij->", "ij->"},
                                                           {"ij->j", "ij->j"},
                                                           {"ji", "ji->ij"},
                                                           {"bij,bjk->bik", "bij,bjk->bik"},
                                                           {"i,j->ij", "i,j->ij"},
                                                           {"i,i->", "i,i->"},
                                                           {"i,i", "i,i->"},
                                                           {"ij,ij->i", "ij,ij->i"},
                                                           {"ij,ij->ij", "ij,ij->ij"},
                                                           {"...ij,...jk->...ik", "abij,abjk->abik"},
                                                           {"...i->...", "abi->ab"},
                                                           {"bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk"},
                                                           {"bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk"},
                                                           {"ij,jk,kl->il", "ij,jk,kl->il"},
                                                           {"ij,k->jki", "ij,k->jki"},
                                                           {"ab,ac,ad->bcd", "ab,ac,ad->bcd"},
                                                           {" i j , j -> i ", "ij,j->i"},
                                                           {"ji,jk->ik", "ji,jk->ik"},
                                                           {"Ab,bA->bA", "Ab,bA->bA"}};
  for (const auto& [equation, letters] : equations) {
    for (const Element element : {Element::kFloat32, Element::kInt32}) {
      SCOPED_TRACE(equation);
      const std::string text = letters;
      const std::string left = text.substr(0, text.find('-')), result = text.substr(text.find('>') + 1);
      std::vector<std::string> terms(1);
      std::map<char, int64_t> sizes;
      for (char c : left) {
        if (c == ',') terms.emplace_back();
        if (c == ',') continue;
        terms.back() += c;
        sizes[c] = 2 + (c % 4);
      }
      OneNode test{.op_type = "Einsum", .attributes = [&](auto& node) { set(node, "equation", equation); }};
      std::vector<Doubles> values;
      for (const std::string& term : terms) {
        Shape shape;
        size_t count = 1;
        for (char c : term) shape.push_back(sizes[c]);
        for (int64_t extent : shape) count *= static_cast<size_t>(extent);
        values.push_back(whole_values(count, values.size() + 1));
        test.operands.push_back({element, shape, values.back()});
      }
      EXPECT_EQ(node_outputs(test), by_loops(terms, result, sizes, values));
    }
  }
}

TEST(Einsum, TakesDiagonalsScalarsAndBroadcasts) {
  const auto of = [](const char* equation, std::vector<Operand> operands) {
    return node_outputs({.op_type = "Einsum", .operands = std::move(operands), .attributes = [&](auto& node) {
                           set(node, "equation", equation);
                         }});
  };
  const Operand square{Element::kFloat32, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(of("ii->i", {square}), (Doubles{1, 5, 9}));
  EXPECT_EQ(of("ii", {square}), Doubles{15});
  EXPECT_EQ(of("iii->i", {{Element::kFloat32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}), (Doubles{1, 8}));
  EXPECT_EQ(of(",ij->ji", {{Element::kFloat32, {}, {2}}, {Element::kFloat32, {1, 2}, {3, 4}}}),
            (Doubles{6, 8}));
  EXPECT_EQ(of("...i,...i->...",
               {{Element::kFloat32, {2, 1, 2}, {1, 2, 3, 4}}, {Element::kFloat32, {2, 2}, {1, 1, 0, 2}}}),
            (Doubles{3, 4, 7, 8}));
  EXPECT_FALSE(run_node({.op_type = "Einsum",
                         .operands = {square},
                         .attributes = [](auto& node) { set(node, "equation", "ij->ijk"); }})
                   .ok());
}

TEST(Fourier, TransformsOfShortLongAndPrimeLengths) {
  for (const int64_t n : {1, 2, 7, 64, 100, 131, 360}) {
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(n);
      const Doubles x = whole_values(static_cast<size_t>(2 * n * 2), static_cast<uint64_t>(n));
      Doubles want(x.size());
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t k = 0; k < n; ++k) {
          double real = 0, imaginary = 0;
          for (int64_t j = 0; j < n; ++j) {
            const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j * k % n) /
                                 static_cast<double>(n);
            const double a = x[static_cast<size_t>((row * n + j) * 2)],
                         b = x[static_cast<size_t>((row * n + j) * 2 + 1)];
            real += a * std::cos(angle) - b * std::sin(angle);
            imaginary += a * std::sin(angle) + b * std::cos(angle);
          }
          const double scale = inverse ? 1.0 / static_cast<double>(n) : 1;
          want[static_cast<size_t>((row * n + k) * 2)] = real * scale;
          want[static_cast<size_t>((row * n + k) * 2 + 1)] = imaginary * scale;
        }
      }
      const Doubles got = node_outputs(
          {.op_type = "DFT", .operands = {{Element::kFloat64, {2, n, 2}, x}}, .attributes = [&](auto& node) {
             set(node, "inverse", inverse ? 1 : 0);
           }});
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-10 * static_cast<double>(n));
    }
  }
}

TEST(Fourier, FramesOfASignalAreTransformedByTheWindow) {
  const Operand signal{Element::kFloat32, {1, 6, 1}, {1, 2, 3, 4, 5, 6}},
      step{Element::kInt64, {}, {2}, true};
  const Operand window{Element::kFloat32, {2}, {1, 0.5}};
  EXPECT_EQ(node_outputs({.op_type = "STFT", .operands = {signal, step, window}}),
            (Doubles{2, 0, 0, 0, 5, 0, 1, 0, 8, 0, 2, 0}));
}

}  // namespace
}  // namespace tf::onnx
