#include "tuner/service/farm/farm_executor.h"

#include <gmock/gmock.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::service {
namespace {

class NoBuilder final : public driver::Builder {
 public:
  absl::StatusOr<tunefarm::kernel::v1::BuildReply> build(
      const tunefarm::kernel::v1::BuildRequest& /*request*/) override {
    return absl::UnavailableError("nothing is built here");
  }
  int slots() const override { return 1; }
  void cancel() override {}
};

TEST(FarmExecutor, ReadsNoModelOfAnotherUserAsExternalData) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file("other.onnx"), "a secret").ok());
  onnx::ModelWriter model;
  ::onnx::TensorProto& weights = model.floats("w", {2}, {});
  weights.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("other.onnx");
  model.input("x", {2});
  model.node("Add", {"x", "w"}, "y");
  model.output("y");
  ASSERT_TRUE(write_file(folder.file("own.onnx"), model.bytes()).ok());

  NoBuilder builder;
  const std::unique_ptr<database::Store> store = *database::open_sqlite_store(folder.file("t.db"));
  FarmExecutor executor({}, builder, *store);
  JobSpec spec = default_spec();
  spec.set_target("x86_64:cpu=znver4");
  spec.set_device_key("desk");
  const absl::Status refused =
      executor.check_model({.model_name = "own", .model_path = folder.file("own.onnx")}, spec);
  EXPECT_EQ(refused,
            absl::InvalidArgumentError(
                "own: initializer 'w': external data is not read here: put the data inside the model"));

  weights.clear_external_data();
  weights.clear_data_location();
  weights.add_float_data(1);
  weights.add_float_data(2);
  ASSERT_TRUE(write_file(folder.file("own.onnx"), model.bytes()).ok());
  EXPECT_EQ(executor.check_model({.model_name = "own", .model_path = folder.file("own.onnx")}, spec),
            absl::OkStatus());
}

}  // namespace
}  // namespace tf::service
