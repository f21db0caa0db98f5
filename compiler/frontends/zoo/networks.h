#pragma once
// Owns: which functions write which networks of the zoo. Does not know: their names in the list.

#include <string>

#include "compiler/frontends/zoo/zoo.h"

namespace tf::zoo {

// Howard et al., "Searching for MobileNetV3", 2019: the large one.
std::string mobilenet_v3(const Options& options);
// Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019.
std::string efficientnet_b0(const Options& options);
// Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015, without the auxiliary
// classifier.
std::string inception_v3(const Options& options);
// Ronneberger et al., "U-Net: Convolutional Networks for Biomedical Image Segmentation", 2015, with batch
// norm and padding; half as wide.
std::string unet(const Options& options);
// A detector in the manner of YOLO (Redmon et al., 2016; Jocher, 2020): three levels, boxes by offsets in a
// grid, 20 classes. The 100 boxes of the highest scores are kept, those of them excepted that overlap a
// better one of their class: "Fast NMS" of Bolya et al., "YOLACT: Real-Time Instance Segmentation", 2019.
// Outputs: boxes [batch, 100, 4] by two corners, scores [batch, 100], 0 for those that are not kept, classes
// i64 [batch, 100].
std::string yolo_small(const Options& options);
// Dosovitskiy et al., "An Image is Worth 16x16 Words", 2020: ViT-S/16.
std::string vit_small(const Options& options);
// Tolstikhin et al., "MLP-Mixer: An all-MLP Architecture for Vision", 2021: Mixer-S/16.
std::string mlp_mixer(const Options& options);
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019: one step with a cache of keys
// and values. Inputs: input_ids i64 [batch, sequence], and past_i [2, batch, 12, past, 64] of each layer, its
// keys and values of the tokens before. Outputs: logits [batch, sequence, 50257] and present_i [2, batch, 12,
// past + sequence, 64].
std::string gpt2_small(const Options& options);
// Huang et al., "Bidirectional LSTM-CRF Models for Sequence Tagging", 2015, without the CRF: input_ids i64
// [batch, sequence] → the probabilities of 17 tags [batch, sequence, 17] and the likeliest, i64 [batch,
// sequence].
std::string lstm_tagger(const Options& options);
// Gulati et al., "Conformer: Convolution-augmented Transformer for Speech Recognition", 2020: two blocks of
// the small one, with attention by plain products. [batch, sequence, 80] features of speech → [batch,
// sequence, 144].
std::string conformer(const Options& options);

}  // namespace tf::zoo
