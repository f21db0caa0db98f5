// Weights in files beside the model: which files are read, and what is said of those that cannot be.
#include "compiler/frontends/onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/onnx/import.h"
#include "compiler/graph/graph.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
using Entries = std::vector<std::pair<std::string, std::string>>;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "model");
    write("outside.bin", values());
    write("model/inside.bin", "pad!" + values());
  }
  static std::string values() {
    const float numbers[2] = {1, 2};
    return {reinterpret_cast<const char*>(numbers), sizeof numbers};
  }
  void write(const std::string& name, const std::string& bytes) const {
    ASSERT_TRUE(write_file(root_ / name, bytes).ok());
  }
  // w of two floats and relu(w), as bytes.
  static std::string model(const Entries& entries) {
    ModelWriter model;
    ::onnx::TensorProto& tensor = model.floats("w", {2}, {});
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    model.output("w");
    return model.bytes();
  }
  // "imported", or what is said; of the same data put inside the model, the same is said.
  std::string said_of(const std::string& location, const std::string& offset = "0",
                      const std::string& file = "model/m.onnx") const {
    return said_of(Entries{{"location", location}, {"offset", offset}}, file);
  }
  std::string said_of(const Entries& entries, const std::string& file = "model/m.onnx") const {
    return said_of_model(model(entries), file);
  }
  std::string said_of_model(const std::string& bytes, const std::string& file = "model/m.onnx") const {
    const std::string path = root_ / file;
    EXPECT_TRUE(write_file(path, bytes).ok());
    const absl::StatusOr<graph::Graph> graph = frontends::import_file(path, {});
    const absl::StatusOr<std::string> inside =
        with_data_inside(bytes, frontends::data_folders(path), 1 << 20);
    EXPECT_EQ(graph.ok(), inside.ok()) << graph.status() << inside.status();
    if (graph.ok() && inside.ok()) {
      EXPECT_TRUE(import_model(*inside, {}, {}).ok());
      return "imported";
    }
    EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(graph.status().message()), path + ": " + std::string(inside.status().message()));
    return std::string(inside.status().message());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const fs::path root_ = folder_.path();
};

TEST_F(ExternalDataTest, IsReadInsideTheModelsFolder) {
  EXPECT_EQ(said_of("inside.bin", "4"), "imported");
  EXPECT_THAT(said_of("inside.bin", "-1"), HasSubstr("bad offset"));
  EXPECT_THAT(std::string(import_model(model({{"location", "inside.bin"}}), {}, {}).status().message()),
              HasSubstr("put the data inside the model"));
}

TEST_F(ExternalDataTest, IsReadAtMostFourTimesFromAFile) {
  write("model/small.bin", values());
  const auto said_of_readers = [this](int readers) {
    ModelWriter model;
    for (int i = 0; i < readers; ++i) {
      ::onnx::TensorProto& tensor = model.floats("w" + std::to_string(i), {2}, {});
      tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
      auto& entry = *tensor.add_external_data();
      entry.set_key("location");
      entry.set_value(i % 2 == 0 ? "small.bin" : "./small.bin");
    }
    model.output("w0");
    return said_of_model(model.bytes());
  };
  EXPECT_EQ(said_of_readers(4), "imported");
  EXPECT_THAT(said_of_readers(5), HasSubstr("more than 4 times the 8 bytes of small.bin"));
}

TEST_F(ExternalDataTest, IsReadOnceForAllIterationsOfALoopThatIsUnrolled) {
  ModelWriter model;
  model.input("x", {1});
  auto& trips = *model.graph().add_initializer();
  trips.set_name("trips");
  trips.set_data_type(::onnx::TensorProto::INT64);
  trips.add_int64_data(20);
  auto& node = model.node("Loop", {"trips", "", "x"}, "y");
  auto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  ModelWriter body;  // grows x by w in each iteration, so that no two have the same shapes
  body.input("i", {}, ::onnx::TensorProto::INT64);
  body.input("go", {}, ::onnx::TensorProto::BOOL);
  body.input("before", {-1});
  ::onnx::TensorProto& w = body.floats("w", {2}, {});
  w.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *w.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  write("model/w.bin", values());
  body.node("Identity", {"go"}, "goes_on");
  ModelWriter::set(body.node("Concat", {"before", "w"}, "after"), "axis", 0);
  for (const char* output : {"goes_on", "after"}) body.output(output);
  *attribute.mutable_g() = body.graph();
  model.output("y");
  ASSERT_TRUE(write_file(root_ / "model/m.onnx", model.bytes()).ok());
  const absl::StatusOr<graph::Graph> graph = frontends::import_file(root_ / "model/m.onnx", {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->shape(graph->outputs[0].node), std::vector<int64_t>{41});
  EXPECT_EQ(std::ranges::count_if(
                graph->nodes,
                [](const auto& each) { return each.name == "w" && graph::as<graph::Constant>(each); }),
            1);
}

TEST_F(ExternalDataTest, IsNotReadFromAFolderWithFilesOfOthers) {
  const std::string path = root_ / "model/m.onnx";
  EXPECT_EQ(said_of("inside.bin", "4"), "imported");
  EXPECT_EQ(frontends::import_file(path, {.reads_external_data = false}).status(),
            absl::InvalidArgumentError(
                path + ": initializer 'w': external data is not read here: put the data inside the model"));
}

TEST_F(ExternalDataTest, IsFoundWhereverAModelNamesIt) {
  const auto said_of_tensor_in = [](const std::function<::onnx::TensorProto*(::onnx::ModelProto&)>& place) {
    ::onnx::ModelProto model;
    ::onnx::TensorProto& tensor = *place(model);
    tensor.set_name("w");
    EXPECT_TRUE(check_data_inside(model.SerializeAsString()).ok());
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    return check_data_inside(model.SerializeAsString());
  };
  using Model = ::onnx::ModelProto;
  const std::vector<std::function<::onnx::TensorProto*(Model&)>> places = {
      [](Model& model) { return model.mutable_graph()->add_initializer(); },
      [](Model& model) { return model.mutable_graph()->add_sparse_initializer()->mutable_values(); },
      [](Model& model) { return model.mutable_graph()->add_sparse_initializer()->mutable_indices(); },
      [](Model& model) { return model.mutable_graph()->add_node()->add_attribute()->mutable_t(); },
      [](Model& model) { return model.mutable_graph()->add_node()->add_attribute()->add_tensors(); },
      [](Model& model) {
        return model.mutable_graph()->add_node()->add_attribute()->mutable_g()->add_initializer();
      },
      [](Model& model) { return model.add_functions()->add_node()->add_attribute()->mutable_t(); },
      [](Model& model) { return model.add_training_info()->mutable_algorithm()->add_initializer(); },
  };
  for (const auto& place : places) {
    EXPECT_EQ(said_of_tensor_in(place),
              absl::InvalidArgumentError("the data of tensor 'w' are in another file: put them inside the "
                                         "model, as `tuner submit` does"));
  }
  EXPECT_TRUE(check_data_inside("not a model").ok());
}

TEST_F(ExternalDataTest, OutsideOfItIsRefused) {
  fs::create_symlink(root_ / "outside.bin", root_ / "model" / "link.bin");
  for (const char* escape : {"../outside.bin", "/etc/passwd", "link.bin"})
    EXPECT_THAT(said_of(escape), HasSubstr("not inside the model's folder")) << escape;
}

TEST_F(ExternalDataTest, ThatCannotBeReadIsCalledWhatItIs) {
  fs::create_directories(root_ / "model" / "folder.bin");
  EXPECT_EQ(said_of("none.bin"), "initializer 'w': none.bin does not exist");
  EXPECT_EQ(said_of("folder.bin"), "initializer 'w': folder.bin is a folder");
  EXPECT_EQ(said_of("inside.bin", "8"),
            "initializer 'w': inside.bin has 12 bytes, but the tensor needs 8 at offset 8");
  EXPECT_EQ(
      said_of(Entries{{"location", "inside.bin"}, {"length", "4"}}),
      "initializer 'w': the model stores 4 bytes in inside.bin, but the tensor's type and shape need 8");
}

TEST_F(ExternalDataTest, OfAModelCacheIsReadWhereItsLinksLead) {
  // As model caches lay it out: names that link to files called by their digests.
  fs::create_directories(root_ / "blobs");
  fs::create_directories(root_ / "snapshots" / "1a2b" / "onnx");
  write("blobs/d1", values());
  fs::create_symlink("../../../blobs/d1", root_ / "snapshots/1a2b/onnx/w.bin");
  write("blobs/m1", "");
  fs::create_symlink("../../../blobs/m1", root_ / "snapshots/1a2b/onnx/m.onnx");
  const std::string link = "snapshots/1a2b/onnx/m.onnx";
  EXPECT_EQ(said_of("w.bin", "0", link), "imported");
  EXPECT_TRUE(fs::is_symlink(root_ / link)) << "the test wrote the model where the link leads";
  fs::create_symlink(root_ / "outside.bin", root_ / "snapshots/1a2b/onnx/stolen.bin");
  EXPECT_THAT(said_of("stolen.bin", "0", link), HasSubstr("not inside the model's folder"));
  fs::create_symlink("../../../blobs/gone", root_ / "snapshots/1a2b/onnx/gone.bin");
  EXPECT_EQ(said_of("gone.bin", "0", link), "initializer 'w': gone.bin does not exist");
}

TEST_F(ExternalDataTest, InsideTheModelGivesTheSameValuesAndLeavesAPlainModelAsItIs) {
  const std::string path = root_ / "model/m.onnx";
  const std::string bytes = model({{"location", "inside.bin"}, {"offset", "4"}});
  const absl::StatusOr<std::string> inside = with_data_inside(bytes, frontends::data_folders(path), 1 << 20);
  ASSERT_TRUE(inside.ok()) << inside.status();
  ::onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(*inside));
  EXPECT_EQ(read.graph().initializer(0).raw_data(), values());
  EXPECT_FALSE(read.graph().initializer(0).has_data_location());
  EXPECT_EQ(*with_data_inside(*inside, {}, 1 << 20), *inside);
  const absl::Status large = with_data_inside(bytes, frontends::data_folders(path), 60).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ExternalDataTest, OfAConstantInAnInnerGraphComesAlong) {
  ModelWriter model;
  ::onnx::GraphProto& inner = *model.node("If", {"c"}, "y").add_attribute()->mutable_g();
  ::onnx::TensorProto& tensor = *inner.add_node()->add_attribute()->mutable_t();
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("../outside.bin");
  const frontends::DataFolders folders = frontends::data_folders(root_ / "model/m.onnx");
  EXPECT_THAT(std::string(with_data_inside(model.bytes(), folders, 1 << 20).status().message()),
              HasSubstr("not inside the model's folder"));
  entry.set_value("inside.bin");
  ::onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(*with_data_inside(model.bytes(), folders, 1 << 20)));
  EXPECT_EQ(read.graph().node(0).attribute(0).g().node(0).attribute(0).t().raw_data().size(), 8u);
}

}  // namespace
}  // namespace tf::onnx
