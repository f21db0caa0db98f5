// What is said of a file that is given as a model and is none.
#include "compiler/onnx/other_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compiler/graph/graph.h"
#include "compiler/onnx/import.h"

namespace tf::onnx {
namespace {

using std::string;
using testing::HasSubstr;

string said_of(const string& bytes) {
  return string(import_model_bytes(bytes, "", {}).status().message());
}

TEST(OtherFormats, AreRecognisedByTheirContent) {
  const string rest(64, 'x');
  const std::vector<std::pair<string, string>> rows = {
      {string("PK\x03\x04") + rest + "net/data.pkl" + rest,
       "PyTorch checkpoint: export it with torch.onnx.export"},
      {string("PK\x03\x04") + string(1 << 20, 'x') + "net/data.pkl", "PyTorch checkpoint"},
      {string("PK\x03\x04") + rest + "model.weights.h5", "Keras model"},
      {string("PK\x03\x04") + rest, "ZIP archive"},
      {string("\x80\x02") + rest, "PyTorch checkpoint"},
      {string("\x1c\0\0\0TFL3", 8) + rest, "TensorFlow Lite model: convert it with tf2onnx"},
      {string("\x08\x01\x12\x05") + rest, "TensorFlow model"},
      {string("\x0a\x10\x0a\x03") + "abc\x12\x0bPlaceholder", "TensorFlow model"},
      {"\x89HDF\r\n\x1a\n" + rest, "HDF5"},
      {"GGUF" + rest, "GGUF"},
      {string("\x40\0\0\0\0\0\0\0", 8) + "{\"w\":" + rest, "safetensors"},
      {string("\x1f\x8b") + rest, "compressed file: unpack it first"},
      {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
      {"{\"format\": 1}", "JSON"},
      {"<!DOCTYPE html>", "web page"},
      {"<?xml version=\"1.0\"?>", "OpenVINO"},
      {string("\x7f") + "ELF" + rest, "program or a library"}};
  for (const auto& [bytes, words] : rows) {
    EXPECT_THAT(said_of(bytes), testing::StartsWith("not an ONNX model (looks like ")) << words;
    EXPECT_THAT(said_of(bytes), HasSubstr(words));
  }
}

TEST(OtherFormats, ThatAreNotKnownAreNotGuessedAt) {
  EXPECT_EQ(other_format(""), "");
  EXPECT_EQ(other_format("PK"), "");
  EXPECT_EQ(other_format("this is not a model"), "");
  EXPECT_THAT(said_of("this is not a model"),
              HasSubstr("not a whole ONNX model: truncated, or in another format"));
}

TEST(OtherFormats, AFolderIsNamedWithTheModelInIt) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto said = [&] { return import_model(folder.path(), {}).status(); };
  EXPECT_EQ(said().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give the model's .onnx file"));
  ASSERT_TRUE(write_file(folder.file("net.onnx"), "x").ok());
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give " + folder.file("net.onnx")));
  ASSERT_TRUE(write_file(folder.file("model.onnx"), "x").ok());
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give " + folder.file("model.onnx")));
}

}  // namespace
}  // namespace tf::onnx
