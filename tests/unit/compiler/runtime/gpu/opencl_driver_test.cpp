// On the first OpenCL device, where there is one.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <string>

#include "compiler/runtime/gpu/gpu.h"

namespace tf::gpu {
namespace {

using ::testing::HasSubstr;

class OpenClDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = driver_.open(0, error_);
    if (device_ == nullptr) GTEST_SKIP() << error_;
    driver_.facts(device_, &facts_);
  }
  void TearDown() override {
    if (device_ != nullptr) driver_.close(device_);
  }

  // What the kernel `f` makes of x in the first element.
  float value_of(const std::string& source, float x) {
    Program* program = driver_.load(device_, source.data(), source.size(), error_);
    if (program == nullptr) return NAN;
    Kernel* kernel = driver_.find(program, "f", error_);
    Memory* memory = driver_.allocate(device_, 256, error_);
    const Argument argument = {memory, 0, 256};
    float result = NAN;
    const bool done = kernel != nullptr && memory != nullptr &&
                      driver_.upload(memory, 0, &x, sizeof x, error_) &&
                      driver_.bind(kernel, &argument, 1, nullptr, 0, error_) &&
                      driver_.launch(kernel, {{1, 1, 1}, {1, 1, 1}, 0}, error_) &&
                      driver_.download(&result, memory, 0, sizeof result, error_);
    if (memory != nullptr) driver_.free(memory);
    driver_.unload(program);
    return done ? result : NAN;
  }

  const Driver& driver_ = opencl_driver();
  Device* device_ = nullptr;
  Facts facts_ = {};
  char error_[kErrorChars] = "";
};

// All functions that the printer of OpenCL C knows.
std::string all_functions(const std::string& type) {
  std::string text = "{ " + type + " v = x[0];\n";
  for (const char* name : {"exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "tanh", "erf", "floor", "ceil",
                           "rint", "sin", "cos", "atan", "fabs"})
    text += "x[1] += " + std::string(name) + "(v);\n";
  for (const char* name : {"pow", "fmod", "copysign"}) text += "x[1] += " + std::string(name) + "(v, v);\n";
  return text + "x[1] += fma(v, v, v); }\n";
}

TEST_F(OpenClDriver, BuildsOurKernelsWithoutTheHeaderOfAllFunctions) {
  if (!facts_.compiles_at_launch) GTEST_SKIP() << "it is not PoCL";
  std::string source = "#ifndef TF_OWN_BUILTINS\n#error with the header\n#endif\n";
  if (facts_.doubles) source += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  source += "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void f(__global float* x) {\n" +
            all_functions("float") + (facts_.doubles ? all_functions("double") : "") + R"(
  unsigned short half_bits;
  vstore_half_rte(x[0], 0, (half*)&half_bits);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  x[0] = vload_half(0, (const half*)&half_bits) + sqrt(x[0]) + as_float(as_uint(x[0])) + get_group_id(0) +
         get_local_id(0) + get_global_id(0);
})";
  EXPECT_EQ(value_of(source, 4), 10) << error_;
}

TEST_F(OpenClDriver, BuildsWhatCallsOtherFunctionsToo) {
  EXPECT_EQ(value_of("__kernel void f(__global float* x) { x[0] = hypot(x[0], 3.0f); }", 4), 5) << error_;
}

TEST_F(OpenClDriver, SaysWhatIsWrongInASource) {
  EXPECT_TRUE(std::isnan(value_of("__kernel void f(__global float* x) { x[0] = nonsense; }", 4)));
  EXPECT_THAT(std::string(error_), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace tf::gpu
