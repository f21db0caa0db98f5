#pragma once
// Owns: BERT encoders in the zoo. Does not know: other networks.

#include <cstdint>
#include <string>

#include "compiler/frontends/zoo/zoo.h"

namespace tf::zoo {

inline constexpr int64_t kBertPositions = 512;  // the longest text

struct BertShape {
  int layers = 1;
  int64_t width = 64;  // heads of 64, an inner layer of 4 * width
  int opset = 13;      // from 17 on layer norm is one operator, before it is decomposed
};

// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018, in the operators that PyTorch
// exports: input_ids and attention_mask, both i64 [batch, sequence], → the last hidden state, [batch,
// sequence, width]. A mask of 0 hides a token. All tokens are of the first kind, as where no second text is
// given.
std::string bert(const std::string& name, const Options& options, const BertShape& shape);

}  // namespace tf::zoo
