#include "compiler/frontends/other_formats.h"

#include <cstdint>
#include <cstring>

#include "base/files/output_file.h"

namespace tf::frontends {
namespace {

using std::string_view;

struct Format {
  size_t offset;
  string_view magic;
  string_view answer;
};

constexpr string_view kUnpack = "looks like a compressed file: unpack it first";
constexpr string_view kTensorFlow = "looks like a TensorFlow model: convert it with tf2onnx";
constexpr string_view kPyTorch = "looks like a PyTorch checkpoint: export it with torch.onnx.export";

// Bytes that a file of the format begins with, or has there.
constexpr Format kFormats[] = {
    {4, "TFL3", "looks like a TensorFlow Lite model: convert it with tf2onnx"},
    {4, "ORTM", "looks like ONNX Runtime's own format: give the original .onnx file"},
    {0, "\x89HDF\r\n\x1a\n", "looks like HDF5, as Keras writes it: convert the model with tf2onnx"},
    {0, "GGUF", "looks like a GGUF model, which has no graph: export the original network to ONNX"},
    {0, "\x93NUMPY", "looks like a NumPy array"},
    {0, {"\x80\x02", 2}, kPyTorch},
    {0, {"\x80\x03", 2}, kPyTorch},
    {0, {"\x80\x04", 2}, kPyTorch},
    {0, {"\x08\x01\x12", 3}, kTensorFlow},
    {0, {"\x1f\x8b", 2}, kUnpack},
    {0, {"\xfd\x37zXZ", 5}, kUnpack},
    {0, {"\x28\xb5\x2f\xfd", 4}, kUnpack},
    {0, "BZh", kUnpack},
    {0, "version https://git-lfs", "looks like a Git LFS pointer: fetch the file with `git lfs pull`"},
    {0, kSqliteSignature, "looks like a database: give it with --db"},
    {0,
     "\x7f"
     "ELF",
     "looks like a program or a library: to use a built model, give its folder to `compiler run` or `bench`"},
    {0, "<!DOCTYPE", "looks like a web page: the download failed"},
    {0, "<html", "looks like a web page: the download failed"},
    {0, "<?xml", "looks like XML, as written by OpenVINO: give the original ONNX model"},
    {0, "{", "looks like JSON, which has no weights: export the network to ONNX"},
    {0, "[", "looks like JSON, which has no weights: export the network to ONNX"},
};

// A ZIP archive, by the names of its files: PyTorch's since 1.6, Keras's since 3, NumPy's .npz.
string_view archive(string_view bytes) {
  const string_view begin = bytes.substr(0, 1 << 16), end = bytes.substr(bytes.size() - begin.size());
  const auto holds = [&](string_view name) {
    return begin.find(name) != string_view::npos || end.find(name) != string_view::npos;
  };
  if (holds("/data.pkl") || holds("/constants.pkl")) return kPyTorch;
  if (holds("model.weights.h5")) return "looks like a Keras model: convert it with tf2onnx";
  if (holds(".npy")) return "looks like an archive of NumPy arrays";
  return "looks like a ZIP archive: unpack it first";
}

// Eight bytes with the length of a JSON text, then that.
bool is_safetensors(string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < 10) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length >= 2 && length <= bytes.size() - 8 && bytes[8] == '{' && bytes[9] == '"';
}

// A GraphDef: a node of some length that begins with its name, then its operator.
bool is_graph_def(string_view bytes) {
  size_t at = 1;
  while (at < bytes.size() && (static_cast<uint8_t>(bytes[at]) & 0x80) != 0) ++at;
  if (bytes.size() < at + 4 || bytes[0] != '\x0a' || bytes[at + 1] != '\x0a') return false;
  const size_t after_name = at + 3 + static_cast<uint8_t>(bytes[at + 2]);
  return after_name < bytes.size() && bytes[after_name] == '\x12';
}

}  // namespace

std::string other_format(string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) return std::string(archive(bytes));
  if (is_safetensors(bytes))
    return "looks like safetensors, which has weights but no graph: export the network to ONNX";
  for (const Format& format : kFormats) {
    if (bytes.size() > format.offset && bytes.substr(format.offset).starts_with(format.magic))
      return std::string(format.answer);
  }
  return is_graph_def(bytes) ? std::string(kTensorFlow) : "";
}

}  // namespace tf::frontends
