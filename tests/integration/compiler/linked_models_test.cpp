// Programs that are linked with built models, or open them: in C and C++, with one model and with two.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/compiler/commands.h"
#include "tests/support/onnx/model_writer.h"

namespace tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LinkedModels : public Commands {
 protected:
  // y = x + number, of four floats.
  void write_model(const std::string& name, float number) {
    onnx::ModelWriter model;
    model.input("x", {4});
    model.floats("number", {1}, {number});
    model.node("Add", {"x", "number"}, "y");
    model.output("y");
    std::ofstream(file(name), std::ios::binary) << model.bytes();
  }
  // Into the folder `folder`, from `folder`.onnx.
  void build(const std::string& folder, float number, const std::string& options = "") {
    write_model(folder + ".onnx", number);
    const Answer answer =
        run("build " + file(folder + ".onnx") + " --target host -o " + file(folder) + " " + options);
    ASSERT_EQ(answer.code, 0) << answer.err;
  }

  // What `command` prints, run by the shell in the folder of the test; what it says is wrong, too.
  Answer shell(const std::string& command) const {
    FILE* pipe = popen(("export LC_ALL=C; cd " + root_ + " && ( " + command + " ) 2>&1").c_str(), "r");
    Answer answer;
    char buffer[4096];
    for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) answer.out.append(buffer, n);
    answer.code = WEXITSTATUS(pclose(pipe));
    return answer;
  }
  static constexpr const char* kC = TF_C_COMPILER " -std=c11 -Wall -Wextra -Werror ";
  static constexpr const char* kCxx = TF_CXX_COMPILER " -std=c++17 -Wall -Wextra -Werror ";
  static std::string linked_with(const std::string& model) {
    return " -L " + model + " -l" + model + " -Wl,-rpath,'$ORIGIN/" + model + "' ";
  }
};

// As in the README, with plain names.
constexpr const char* kOneModel = R"(
#include <stdio.h>
#include "model.h"
int main(void) {
  tf_model* model;
  int32_t error = tf_model_open(1, &model);
  if (error != TF_MODEL_OK) return puts(tf_model_error_text(error)), 1;
  float x[TF_MODEL_INPUT_0_BYTES / sizeof(float)] = {0}, y[TF_MODEL_OUTPUT_0_BYTES / sizeof(float)];
  const void* inputs[TF_MODEL_INPUTS] = {x};
  void* outputs[TF_MODEL_OUTPUTS] = {y};
  error = tf_model_run(model, inputs, outputs);
  printf("%s %g\n", tf_model_error_text(error), y[3]);
  tf_model_close(model);
  return 0;
}
)";

// In C11 and C++.
constexpr const char* kTwoModels = R"(
#include <stdio.h>
#include "first/model.h"
#include "second/model.h"
#include "first/model.h"
int main(void) {
  first_model* first;
  second_model* second;
  if (first_open(1, &first) != TF_MODEL_OK || second_open(2, &second) != TF_MODEL_OK) return 1;
  float x[FIRST_INPUT_0_BYTES / sizeof(float)] = {0}, y[FIRST_OUTPUT_0_BYTES / sizeof(float)];
  float z[SECOND_OUTPUT_0_BYTES / sizeof(float)];
  const void* inputs[] = {x};
  void* y_outputs[] = {y};
  void* z_outputs[] = {z};
  first_run(first, inputs, y_outputs);
  second_run(second, inputs, z_outputs);
  printf("%g %g %d\n", y[0], z[0], first_run((first_model*)second, inputs, y_outputs));
  first_close(first);
  second_close(second);
  return 0;
}
)";

TEST_F(LinkedModels, OneIsUsedByPlainNamesInCAndCxx) {
  ASSERT_NO_FATAL_FAILURE(build("net", 5));
  std::ofstream(file("app.c")) << kOneModel;
  for (const std::string& compiler : {std::string(kC), std::string(kCxx) + "-x c++ "}) {
    const Answer answer = shell(compiler + "app.c -x none -I net" + linked_with("net") + "-o app && ./app");
    EXPECT_EQ(answer.out, "ok 5\n") << compiler;
  }
}

TEST_F(LinkedModels, AsArchivesAreOneProgramThatNeedsNoLibrary) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1, "--static"));
  ASSERT_NO_FATAL_FAILURE(build("second", 2, "--static"));
  std::ofstream(file("app.c")) << kTwoModels;
  for (const std::string options : {"", "-pie ", "-static "}) {
    const Answer answer = shell(std::string(kC) + options +
                                "app.c -I . first/libfirst.a second/libsecond.a -pthread -o app && ./app");
    EXPECT_EQ(answer.out, "1 2 100\n") << options;
  }
  EXPECT_EQ(shell("nm --defined-only -g --format=posix first/libfirst.a | grep -cv '^first_'").out, "1\n")
      << "all but the line that names the object";
  EXPECT_THAT(shell("readelf -lW app | grep GNU_STACK").out, HasSubstr(" RW "));
  ASSERT_NO_FATAL_FAILURE(build("first", 3));
  EXPECT_FALSE(std::filesystem::exists(file("first/libfirst.a"))) << "it would be of the model before";
}

TEST_F(LinkedModels, AreFoundByCMakeInTheirFolders) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2, "--static"));
  std::filesystem::create_directories(file("project"));
  std::ofstream(file("project/app.c")) << kTwoModels;
  std::ofstream(file("project/CMakeLists.txt")) << R"(cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES C)
find_package(first REQUIRED PATHS ${CMAKE_SOURCE_DIR}/../first NO_DEFAULT_PATH)
find_package(second REQUIRED PATHS ${CMAKE_SOURCE_DIR}/../second NO_DEFAULT_PATH)
add_executable(app app.c)
target_include_directories(app PRIVATE ${CMAKE_SOURCE_DIR}/..)
target_link_libraries(app PRIVATE first::first second::static)
if(TARGET first::static)
  message(FATAL_ERROR "first has no archive")
endif()
)";
  const Answer answer =
      shell("cmake -S project -B out >log 2>&1 && cmake --build out >>log 2>&1 && out/app || cat log");
  EXPECT_EQ(answer.out, "1 2 100\n");
  EXPECT_THAT(shell("readelf -d out/app").out,
              AllOf(HasSubstr("libfirst.so"), testing::Not(HasSubstr("libsecond.so"))));
  ASSERT_NO_FATAL_FAILURE(build("first", 1, "--name other"));
  EXPECT_FALSE(std::filesystem::exists(file("first/first-config.cmake")))
      << "it would name a library that is gone";
}

// Threads of both models run, then a child runs and closes them, as its parent goes on.
constexpr const char* kThreadsAndChild = R"(
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "first/model.h"
#include "second/model.h"
static void* run_first(void* failed) {
  first_model* model;
  float x[4] = {1, 2, 3, 4}, y[4];
  const void* inputs[] = {x};
  void* outputs[] = {y};
  if (first_open(0, &model) != TF_MODEL_OK) *(int*)failed = 1;
  for (int i = 0; i < 1000; ++i)
    if (first_run(model, inputs, outputs) != TF_MODEL_OK || y[3] != 5) *(int*)failed = 1;
  first_close(model);
  return 0;
}
static int answers(first_model* first, second_model* second) {
  float x[4] = {0}, y[4] = {0}, z[4] = {0};
  const void* inputs[] = {x};
  void* y_outputs[] = {y};
  void* z_outputs[] = {z};
  first_run(first, inputs, y_outputs);
  second_run(second, inputs, z_outputs);
  return y[0] == 1 && z[3] == 2;
}
int main(void) {
  first_model* first;
  second_model* second;
  pthread_t threads[4];
  int failed[4] = {0}, status = 1;
  alarm(60);
  if (first_open(3, &first) != TF_MODEL_OK || second_open(2, &second) != TF_MODEL_OK) return 1;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, run_first, &failed[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  printf("%d %d\n", failed[0] + failed[1] + failed[2] + failed[3], answers(first, second));
  fflush(stdout);
  if (fork() == 0) {
    alarm(20);
    const int right = answers(first, second);
    first_close(first);
    second_close(second);
    _exit(right ? 0 : 2);
  }
  wait(&status);
  printf("%d %d\n", status, answers(first, second));
  first_close(first);
  second_close(second);
  return 0;
}
)";

TEST_F(LinkedModels, AreRunByManyThreadsAtOnceAndByAChildOfTheirProcess) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2));
  std::ofstream(file("app.c")) << "#define _DEFAULT_SOURCE\n" << kThreadsAndChild;
  EXPECT_EQ(shell(std::string(kC) + "-pthread app.c -I . " + linked_with("first") + linked_with("second") +
                  "-o app && ./app")
                .out,
            "0 1\n0 1\n");
}

TEST_F(LinkedModels, OneIsFoundByTheNameOfItsFileToo) {
  ASSERT_NO_FATAL_FAILURE(build("net", 5));
  std::ofstream(file("app.c")) << kOneModel;
  const std::string rpath = " -Wl,-rpath,'$ORIGIN/net' -o app && ./app";
  EXPECT_EQ(shell(std::string(kC) + "app.c -I net -L net -l:model.so" + rpath).out, "ok 5\n");
  EXPECT_EQ(shell(std::string(kC) + "app.c -I net net/model.so" + rpath).out, "ok 5\n");
}

TEST_F(LinkedModels, TwoInOneProgramAnswerEachForItself) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2));
  std::ofstream(file("app.c")) << kTwoModels;
  for (const std::string& compiler : {std::string(kC), std::string(kCxx) + "-x c++ "}) {
    const Answer answer = shell(compiler + "app.c -x none -I ." + linked_with("first") +
                                linked_with("second") + "-o app && ./app");
    EXPECT_EQ(answer.out, "1 2 100\n") << compiler << "each gives its own, and takes no model of the other";
  }
}

TEST_F(LinkedModels, OfTwoHeadersInOneFileTheEarlierCodeWithPlainNamesStillMeansOne) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2));
  // Each file includes one header and uses the plain names.
  for (const std::string name : {"first", "second"})
    std::ofstream(file(name + ".c")) << "#include \"" << name << "/model.h\"\n"
                                     << "float " << name << "_answer(void) {\n"
                                     << R"(  tf_model* model;
  float x[4] = {0}, y[4];
  const void* inputs[] = {x};
  void* outputs[] = {y};
  tf_model_open(1, &model);
  tf_model_run(model, inputs, outputs);
  tf_model_close(model);
  return y[0];
}
)";
  std::ofstream(file("main.c"))
      << "#include <stdio.h>\nfloat first_answer(void), second_answer(void);\n"
         "int main(void) { printf(\"%g %g\\n\", first_answer(), second_answer()); }\n";
  EXPECT_EQ(shell(std::string(kC) + "main.c first.c second.c -I ." + linked_with("second") +
                  linked_with("first") + "-o app && ./app")
                .out,
            "1 2\n");
  // Both in one file: the plain names mean neither.
  std::ofstream(file("both.c")) << "#include \"first/model.h\"\n#include \"second/model.h\"\n"
                                   "int main(void) { tf_model* model; return 0; }\n";
  EXPECT_THAT(shell(std::string(kC) + "both.c -I . -o both").out, HasSubstr("'tf_model'"));
  // Nor does a size of the first that the second does not have.
  onnx::ModelWriter two;
  two.input("x", {4});
  two.input("z", {4});
  two.node("Add", {"x", "z"}, "y");
  two.output("y");
  std::ofstream(file("two.onnx"), std::ios::binary) << two.bytes();
  ASSERT_EQ(run("build " + file("two.onnx") + " -o " + file("two")).code, 0);
  const std::string size =
      "char bytes[TF_MODEL_INPUT_1_BYTES];\nint main(void) { return sizeof bytes != 16; }\n";
  std::ofstream(file("size.c")) << "#include \"two/model.h\"\n" << size;
  EXPECT_EQ(shell(std::string(kC) + "size.c -I . -o size && ./size").out, "");
  std::ofstream(file("sizes.c")) << "#include \"two/model.h\"\n#include \"first/model.h\"\n" << size;
  EXPECT_THAT(shell(std::string(kC) + "sizes.c -I . -o sizes").out, HasSubstr("plain_names_of_two_models"));
  std::ofstream(file("none.c"))
      << "#define TF_MODEL_NO_PLAIN_NAMES\n#include \"first/model.h\"\n"
         "#ifdef tf_model_open\n#error plain\n#endif\nint main(void) { return 0; }\n";
  EXPECT_EQ(shell(std::string(kC) + "none.c -I . -o none").out, "");
}

TEST_F(LinkedModels, OpenedByDlopenAreFoundByTheirPrefix) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2));
  std::ofstream(file("app.c")) << R"(
#include <dlfcn.h>
#include <stdio.h>
#include "first/model.h"
static float answer(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  char name[200];
  tf_model* model;
  float x[4] = {0}, y[4];
  const void* inputs[] = {x};
  void* outputs[] = {y};
#define FIND(function)                                                                        \
  snprintf(name, sizeof name, "%s_" #function, (const char*)dlsym(library, "tf_model_prefix")); \
  __typeof__(&tf_model_##function) function = (__typeof__(&tf_model_##function))dlsym(library, name)
  FIND(open);
  FIND(run);
  FIND(close);
  open(1, &model);
  run(model, inputs, outputs);
  close(model);
  return y[0];
}
int main(void) {
  const float first = answer("first/model.so"), second = answer("second/model.so");
  printf("%g %g\n", first, second);
  return 0;
}
)";
  EXPECT_EQ(shell(std::string(TF_C_COMPILER) + " app.c -I . -o app -ldl && ./app").out, "1 2\n");
}

TEST_F(LinkedModels, ShareNoSymbolButTheOneThatNamesThem) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1));
  ASSERT_NO_FATAL_FAILURE(build("second", 2, "--name other"));
  const std::string defined = "nm -D --defined-only --format=posix ";
  EXPECT_EQ(shell(defined + "first/model.so | cut -d' ' -f1 >a; " + defined +
                  "second/model.so | cut -d' ' -f1 >b; comm -12 a b; grep -c ^other_ b")
                .out,
            "tf_model_prefix\n18\n");
  EXPECT_THAT(shell("readelf -d first/model.so second/libother.so").out,
              AllOf(HasSubstr("soname: [libfirst.so]"), HasSubstr("soname: [libother.so]")));
}

TEST_F(LinkedModels, OfOneNameAreToldApartByTheirHeaders) {
  ASSERT_NO_FATAL_FAILURE(build("first", 1, "--name same"));
  write_model("wide.onnx", 1);
  onnx::ModelWriter wide;
  wide.input("x", {5});
  wide.node("Relu", {"x"}, "y");
  wide.output("y");
  std::ofstream(file("wide.onnx"), std::ios::binary) << wide.bytes();
  ASSERT_EQ(run("build " + file("wide.onnx") + " --name same -o " + file("second")).code, 0);
  std::ofstream(file("app.c")) << kTwoModels;
  EXPECT_THAT(shell(std::string(kC) + "app.c -I . -o app").out,
              HasSubstr("two models have the name same: build one of them with another --name"));
}

TEST_F(LinkedModels, AreNamedAfterTheirFileOrItsFolder) {
  std::filesystem::create_directories(file("resnet-50"));
  write_model("resnet-50/model.onnx", 1);
  write_model("3d.onnx", 1);
  EXPECT_THAT(run("build " + file("resnet-50/model.onnx") + " -o " + file("out")).out,
              HasSubstr("the functions begin with resnet_50_"));
  EXPECT_TRUE(std::filesystem::exists(file("out/libresnet_50.so")));
  for (const char* mine : {"out/current", "out/libcurrent.so"})
    std::filesystem::create_symlink("model.so", file(mine));
  EXPECT_THAT(run("build " + file("3d.onnx") + " -o " + file("out")).out,
              HasSubstr("the functions begin with model_3d_"));
  EXPECT_FALSE(std::filesystem::is_symlink(file("out/libresnet_50.so"))) << "its functions are gone";
  for (const char* mine : {"out/current", "out/libcurrent.so"})
    EXPECT_TRUE(std::filesystem::is_symlink(file(mine))) << mine;
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"a-b", "the name 'a-b' is not a C identifier"},
      {"tf_model", "the name 'tf_model' begins with tf_"},
      {"sem", "the name 'sem' would replace the C library's sem_"},
      {"m",
       "the name 'm' would make the library libm.so, which -lm takes from the system: give another with "
       "--name"},
      {"gcc_s", "would make the library libgcc_s.so"}};
  for (const auto& [name, message] : refused) {
    const Answer answer = run("build " + file("3d.onnx") + " --name " + name + " -o " + file("none"));
    EXPECT_EQ(answer.code, 2) << name;
    EXPECT_THAT(answer.err, HasSubstr(message));
    EXPECT_EQ(lines(answer.err), 1);
  }
}

TEST_F(LinkedModels, DoNotReplaceTheMathLibraryOfAProgram) {
  write_model("m.onnx", 1);
  EXPECT_THAT(run("build " + file("m.onnx") + " -o " + file("out")).out,
              HasSubstr("the functions begin with model_m_"));
  EXPECT_TRUE(std::filesystem::exists(file("out/libmodel_m.so")));
  EXPECT_FALSE(std::filesystem::exists(file("out/libm.so")));
}

TEST_F(LinkedModels, ThatAnOlderCompilerBuiltAreRefusedInOneLine) {
  std::filesystem::create_directories(file("old"));
  std::ofstream(file("old.c"))
      << "int tf_model_open(int threads, void** model) { return threads && !model; }\n";
  ASSERT_EQ(shell(std::string(TF_C_COMPILER) + " -shared -fPIC old.c -o old/model.so").out, "");
  const Answer answer = run("bench " + file("old"));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("was built by an older version of the compiler: build the model again"));
  EXPECT_EQ(lines(answer.err), 1);
}

TEST_F(LinkedModels, ForANewerCpuAreRefusedByTheFeatureThatIsMissing) {
  write_model("net.onnx", 1);
  std::ofstream(file("app.c")) << kOneModel;
  ASSERT_EQ(run("build " + file("net.onnx") + " --target x86_64:cpu=haswell -o " + file("net")).code, 0);
  const Answer compiled = shell(std::string(kC) + "app.c -I net" + linked_with("net") + "-o app");
  ASSERT_EQ(compiled.code, 0) << compiled.out;
  if (shell("qemu-x86_64 --version").code != 0) GTEST_SKIP() << "there is no qemu-x86_64: install qemu-user";
  const std::vector<std::pair<std::string, std::string>> rows = {{"Haswell", "ok 1"},
                                                                 {"Nehalem", "lacks avx,"},
                                                                 {"SandyBridge", "lacks avx2,"},
                                                                 {"Haswell,-bmi2", "lacks bmi2,"},
                                                                 {"Haswell,-movbe", "lacks movbe,"},
                                                                 {"Haswell,-fma", "lacks fma,"},
                                                                 {"Haswell,-xsave", "lacks avx,"}};
  for (const auto& [cpu, answer] : rows)
    EXPECT_THAT(shell("qemu-x86_64 -cpu " + cpu + " ./app").out, HasSubstr(answer)) << cpu;
}

TEST_F(LinkedModels, ForAvx512AreRefusedByEveryCommandOnAMachineWithoutIt) {
  write_model("net.onnx", 1);
  ASSERT_EQ(run("build " + file("net.onnx") + " --target x86_64:cpu=znver4 -o " + file("net")).code, 0);
  std::ofstream(file("x.pb"), std::ios::binary) << "";
  const Answer bench = run("bench " + file("net"));
  if (bench.code == 0) GTEST_SKIP() << "this machine has all of znver4";
  for (const Answer& answer :
       {bench, run("run " + file("net") + " --input x=" + file("x.pb") + " -o " + file("out"))}) {
    EXPECT_EQ(answer.code, 1);
    EXPECT_THAT(answer.err, AllOf(HasSubstr("lacks avx"), HasSubstr("which the model needs")));
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
  }
}

}  // namespace
}  // namespace tf
