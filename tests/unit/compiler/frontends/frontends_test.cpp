// How a front end is found by content, and the message for a file that none accepts.
#include "compiler/frontends/frontends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/frontends/onnx/import.h"
#include "compiler/frontends/other_formats.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/graph.h"

namespace tf::frontends {
namespace {

using std::string;
using testing::HasSubstr;

string said_of(const string& bytes) {
  return string(import_model(bytes, {}).status().message());
}

TEST(Frontends, ReadsANetworkByContent) {
  const string model = *zoo::model("mlp", {});
  EXPECT_TRUE(import_model(model, {}).ok());
  EXPECT_TRUE(check_dims(model, {}).ok());
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file("network.tflite"), model).ok());
  EXPECT_TRUE(import_file(folder.file("network.tflite"), {}).ok());
  EXPECT_EQ(*with_data_inside(model, folder.file("network.tflite"), 1 << 30), model);
}

// Protobuf leaves a message's fields in any order.
TEST(Frontends, FindsTheGraphOfAnOnnxModelBehindItsOtherFields) {
  const string graph = "\x3a\x02xx", version = "\x08\x07", producer = "\x12\x03pip";
  EXPECT_TRUE(onnx::is_model(graph + version));
  EXPECT_TRUE(onnx::is_model(version + producer + graph));
  EXPECT_TRUE(onnx::is_model(version + "\x3a\x7f")) << "a truncated model is recognised";
  EXPECT_FALSE(onnx::is_model(version + producer)) << "there is no graph";
  EXPECT_FALSE(onnx::is_model("\x12\x7fpip")) << "a field is longer than the file";
  EXPECT_FALSE(onnx::is_model(string("\0\0\x3a\x02xx", 6))) << "there is no field 0";
  EXPECT_FALSE(onnx::is_model(version + "\x38\x01")) << "the graph is not a number";
}

TEST(Frontends, NamesTheFormatsForATruncatedOrEmptyFile) {
  const string model = *zoo::model("mlp", {});
  EXPECT_THAT(said_of(model.substr(0, model.size() / 2)), HasSubstr("not a whole ONNX model"));
  EXPECT_EQ(said_of(""), "the file is empty, not an ONNX model");
  EXPECT_EQ(said_of(string(1, '\x08')), "not a whole ONNX model: truncated, or in another format");
  EXPECT_TRUE(check_data_inside("not a model").ok());
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
  const auto said = [&] { return import_file(folder.path(), {}).status(); };
  EXPECT_EQ(said().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give the model's .onnx file"));
  ASSERT_TRUE(write_file(folder.file("net.onnx"), "x").ok());
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give " + folder.file("net.onnx")));
  ASSERT_TRUE(write_file(folder.file("model.onnx"), "x").ok());
  EXPECT_THAT(string(said().message()), HasSubstr("is a folder: give " + folder.file("model.onnx")));
}

}  // namespace
}  // namespace tf::frontends
