// What the `compiler` program answers: exit codes, one clear line a mistake, files.
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/frontends/frontends.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/graph.h"
#include "tests/integration/compiler/commands.h"
#include "tests/support/onnx/model_writer.h"

namespace tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

TEST_F(Commands, EveryOneHasHelpWithAnExample) {
  for (const char* command : {"zoo", "tasks", "build", "run", "bench", "check", "show", "kernel"}) {
    const Answer answer = run(std::string(command) + " --help");
    EXPECT_EQ(answer.code, 0) << command;
    EXPECT_THAT(answer.out, HasSubstr("Example: compiler " + std::string(command)));
  }
  EXPECT_THAT(run("--help").out, HasSubstr("Example: compiler "));
}

TEST_F(Commands, ThatHasRecordsTellsTheVersionsThatTheseDependOn) {
  const Answer answer = run("--version");
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.out,
              testing::MatchesRegex("compiler [0-9.]+ [(]schedule semantics [0-9]+, database schema [0-9]+, "
                                    "kernel ABI [0-9]+[)]\n"));
}

// Whole numbers and bools are either right or wrong, however small the difference is beside the largest.
TEST_F(Commands, CheckHoldsWholeNumbersExactly) {
  using tensor::Element;
  const auto write = [&](const std::string& path, Element element, const std::vector<int64_t>& values) {
    ASSERT_TRUE(onnx::write_tensor(
                    path, {"",
                           element,
                           {std::ssize(values)},
                           std::make_shared<const graph::Blob>(graph::write_integers(element, values))})
                    .ok());
  };
  const struct {
    std::vector<int64_t> sum, below;
    const char* answer;
  } cases[] = {
      {{2000000000, 6}, {1, 0}, "ok"},
      {{2000000001, 6}, {1, 0}, "output 'sum': element 0 is 2000000000, but the reference is 2000000001"},
      {{2000000000, 6}, {1, 1}, "output 'below': element 1 is 0, but the reference is 1"}};
  for (const auto& each : cases) {
    onnx::ModelWriter model;
    model.input("x", {2}, ::onnx::TensorProto::INT64);
    model.ints("four", {1000000001, 2});
    model.node("Add", {"x", "x"}, "sum");
    model.node("Less", {"x", "four"}, "below");
    model.output("sum"), model.output("below");
    const std::string folder = file("exact"), data = folder + "/test_data_set_0/";
    fs::create_directories(data);
    std::ofstream(folder + "/model.onnx") << model.bytes();
    write(data + "input_0.pb", Element::kInt64, {1000000000, 3});
    write(data + "output_0.pb", Element::kInt64, each.sum);
    write(data + "output_1.pb", Element::kBool, each.below);
    EXPECT_THAT(run("check --interpret " + folder).out, HasSubstr(each.answer));
  }
}

// What `compiler ARGUMENTS` prints on a terminal with so many columns; at most what such a terminal buffers.
std::string on_terminal(const std::string& arguments, unsigned short columns) {
  const winsize size{.ws_row = 50, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int ours = -1, theirs = -1;
  char path[256];
  if (openpty(&ours, &theirs, path, nullptr, &size) != 0) return "there is no terminal";
  const std::string command = TF_BINARY_DIR "/bin/compiler " + arguments + " > " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  char buffer[4096];
  const ssize_t count = read(ours, buffer, sizeof(buffer));
  close(theirs);
  close(ours);
  return {buffer, static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

// Of characters, but for the terminal's carriage returns.
size_t longest_line(const std::string& text) {
  size_t longest = 0, length = 0;
  for (const char c : text) {
    if (c == '\n') length = 0;
    if (c != '\n' && c != '\r' && (c & 0xC0) != 0x80) longest = std::max(longest, ++length);
  }
  return longest;
}

TEST_F(Commands, TasksFitTheTerminalUnlessAllOfThemIsAskedFor) {
  ASSERT_EQ(run("zoo bert_mini --sequence 8 -o " + file("bert.onnx")).code, 0);
  const std::string tasks = "tasks " + file("bert.onnx");
  const std::string label = "reduce_mean+sub+pow+reduce_mean+add+sqrt+div+mul+add 1x8x256";
  const std::string narrow = on_terminal(tasks, 80), wide = on_terminal(tasks + " --wide", 80);
  EXPECT_THAT(narrow, AllOf(testing::StartsWith("task  "), HasSubstr("runs"), HasSubstr("key\r\n")));
  EXPECT_THAT(narrow, AllOf(HasSubstr("reduce_mean+sub+pow+"), Not(HasSubstr(label))));
  EXPECT_EQ(longest_line(narrow), 80u) << narrow;
  EXPECT_THAT(wide, HasSubstr(label));
  EXPECT_THAT(run(tasks).out, HasSubstr(label)) << "no terminal";
}

TEST_F(Commands, ZooListFits80ColumnsWithoutACut) {
  const std::string list = run("zoo list").out;
  EXPECT_THAT(list, testing::StartsWith("network          description\n"));
  EXPECT_THAT(list, HasSubstr("\nmlp              four dense layers"));
  EXPECT_LE(longest_line(list), 80u) << list;
}

TEST_F(Commands, AnswerMistakesWithOneLineAndTheDocumentedCode) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  ASSERT_EQ(run("zoo mlp --batch-name n -o " + file("named.onnx")).code, 0);
  std::ofstream(file("truncated.onnx"), std::ios::binary) << read_file(file("mlp.onnx"))->substr(0, 5000);
  std::ofstream(file("garbage.onnx")) << "this is not a model";
  std::ofstream(file("copy.workload")) << "workload v1\ninput p0: f32[8]\nstage t0: f32[i0 < 8] = p0[i0]\n"
                                          "output t0\n";
  std::ofstream(file("garbage.db")) << "this is not a database, however long it may be: "
                                    << std::string(4096, 'x');
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  std::thread([pipe = file("pipe")] { std::ofstream(pipe) << "no model"; }).detach();
  const std::string out = " -o " + file("out");
  const std::vector<std::tuple<std::string, int, std::string>> mistakes = {
      {"build " + file("truncated.onnx") + out, 2, "truncated"},
      {"build " + file("garbage.onnx") + out, 2, "not a whole ONNX model"},
      {"build " + file("missing.onnx") + out, 1, "No such file"},
      {"build " + file("named.onnx") + out, 2, "--dim n=1"},
      {"build " + file("named.onnx") + " --dim n=0" + out, 2, "outside [1"},
      {"build " + file("named.onnx") + " --dim n" + out, 2, "write it as NAME=N"},
      {"build " + file("named.onnx") + " --dim n=4..16:x" + out, 2, "height=32..512:32"},
      {"build " + file("named.onnx") + " --dim n=4..18:4" + out, 2, "ends with a multiple of 4"},
      {"build " + file("named.onnx") + " --dim n=4..16:0" + out, 2, "multiples of 1 or more"},
      {"build " + file("named.onnx") + " --dim n=4..16:4 --at n=6" + out, 2, "that are multiples of 4"},
      {"build " + file("named.onnx") + " --dim n=2 --dim n=3" + out, 2, "gives \"n\" twice"},
      {"build " + file("named.onnx") + " --input x=2 --input x=3" + out, 2, "--input gives \"x\" twice"},
      {"build " + file("mlp.onnx") + " --dim k=3" + out, 2, "no such dimension"},
      {"build " + file("mlp.onnx") + " --target vax" + out, 2, "unknown architecture"},
      {"build " + file("mlp.onnx") + " --db " + file("none.db") + out, 1, "there is no database"},
      {"build " + file("mlp.onnx") + " --db " + file("garbage.db") + out, 1, "garbage.db"},
      {"build " + file("mlp.onnx") + " --locked" + out, 1, "build once without --locked"},
      {"build " + file("mlp.onnx") + " --device box" + out, 2, "--device requires --db"},
      {"run " + file("nowhere") + " --output " + file("out"), 1, "compiler build"},
      {"bench " + file("nowhere"), 1, "compiler build"},
      {"bench " + file("nowhere") + " --dim n=3 --dim n=4", 2, "--dim: gives \"n\" twice: give it once"},
      {"bench " + file("nowhere") + " --prfile", 2, "did you mean --profile?"},
      {"bench " + file("nowhere") + " --affinity x", 2, "--affinity"},
      {"bench " + file("nowhere") + " --affinity ''", 2, "--affinity: the value is empty"},
      {"build " + file("mlp.onnx") + " --target wasm32" + out, 2, "compiler kernel"},
      {"build " + file("mlp.onnx") + " --target wasm32" + out, 2, "a network is built as a shared library"},
      {"build " + file("mlp.onnx") + " --jobs -3" + out, 2, "--jobs"},
      {"build " + file("pipe") + out, 2, "not a whole ONNX model"},
      {"build /dev/zero" + out, 1, "it is a device"},
      {"kernel /dev/full", 1, "it is a device"},
      {"check " + file("nowhere") + " --tolerance nan", 2, "'nan' is not a finite number"},
      {"check " + file("nowhere") + " --tolerance -1", 2, "--tolerance"},
      {"check " + file("nowhere") + " --allow int9", 2, "--allow does not know"},
      {"frobnicate", 2, "there is no command 'frobnicate'. There are zoo"},
      {"zoo alexnet -o " + file("x.onnx"), 2, "no network 'alexnet'; it has "},
      {"zoo alexnet", 2, "no network 'alexnet'; it has "},
      {"zoo mlp", 2, "no output file: give -o FILE.onnx"},
      {"zoo mlp --batch-name 'a b' -o " + file("x.onnx"), 2, "'a b' is not a valid name"},
      {"zoo mlp --batch-name b --batch 2 -o " + file("x.onnx"), 2, "--batch"},
      {"build " + file("mlp.onnx") + " --db ''" + out, 2, "--db: the value is empty"},
      {"show 123456 --db " + file("none.db"), 1, "there is no database"},
      {"kernel " + file("none.workload"), 1, "No such file"},
      {"tasks " + file("mlp.onnx") + " --print-after fold_afine", 2,
       "--print-after: there is no pass 'fold_afine'; did you mean fold_affine? There are "
       "remove_dead_code, "},
      {"kernel " + file("copy.workload") + " --print-after vectorise", 2,
       "--print-after: there is no pass 'vectorise'; did you mean vectorize? There are build_loops, "},
      {"kernel " + file("garbage.onnx") + " --ir", 2, "garbage.onnx: not a workload"},
  };
  for (const auto& [arguments, code, message] : mistakes) {
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.code, code) << arguments << "\n" << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.out, "") << "a mistake prints no result";
  }
  for (const char* usage : {"", "build", "frobnicate", "bench x --runs 0"})
    EXPECT_EQ(run(usage).code, 2) << usage;
}

TEST_F(Commands, RefuseToWriteOverWhatTheyRead) {
  std::ofstream(file("copy.workload")) << "workload v1\ninput p0: f32[8]\nstage t0: f32[i0 < 8] = p0[i0]\n"
                                          "output t0\n";
  std::ofstream(file("empty.schedule")) << run("kernel " + file("copy.workload") + " --schedule").out;
  std::filesystem::create_symlink("copy.workload", file("link"));
  const std::string kernel = "kernel " + file("copy.workload") + " --with " + file("empty.schedule") + " -o ";
  std::filesystem::create_directories(file("net"));
  ASSERT_EQ(run("zoo mlp -o " + file("net/model.h")).code, 0);
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  std::filesystem::create_directories(file("records"));
  std::ofstream(file("records/tuning.lock")) << "{\"type\":\"tunefarm-records\",\"version\":1}\n";
  ASSERT_EQ(run("build " + file("mlp.onnx") + " -o " + file("built")).code, 0);
  std::filesystem::create_directories(file("out"));
  ASSERT_TRUE(write_file(file("out/output_0.pb"), "a tensor").ok());
  const graph::Graph network = *frontends::import_file(file("mlp.onnx"), {});
  const std::string name = network.node(network.inputs()[0]).name;
  const std::vector<std::pair<std::string, std::string>> refused = {
      {kernel + file("copy.workload"), "copy.workload"},
      {kernel + file("link"), "copy.workload"},
      {kernel + file("empty.schedule"), "empty.schedule"},
      {"build " + file("net/model.h") + " -o " + file("net"), "net/model.h"},
      {"build " + file("mlp.onnx") + " --db jsonl:" + file("records/tuning.lock") + " -o " + file("records"),
       "records/tuning.lock"},
      {"run " + file("built") + " --input " + name + "=" + file("out/output_0.pb") + " -o " + file("out"),
       "out/output_0.pb"}};
  for (const auto& [arguments, input] : refused) {
    const std::string before = *read_file(file(input));
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.code, 2) << arguments << "\n" << answer.err;
    EXPECT_THAT(answer.err, AllOf(HasSubstr("cannot write "), HasSubstr("; give another -o"))) << arguments;
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(*read_file(file(input)), before) << arguments;
  }
}

TEST_F(Commands, KernelShowsWhatAScheduleMakesForACpuAndForAGpu) {
  std::ofstream(file("gemm"))
      << "workload v1\ninput p0: f32[64, 32]\nconstant p1: f32[32, 96]\n"
         "stage t0: f32[i0 < 64, i1 < 96] = reduce sum[r0 < 32] p0[i0, r0] * p1[r0, i1]\n"
         "output t0\n";
  const Answer schedule = run("kernel " + file("gemm") + " --target aarch64");
  ASSERT_EQ(schedule.code, 0) << schedule.err;
  std::ofstream(file("schedule")) << schedule.out;
  const Answer arm = run("kernel " + file("gemm") + " --target aarch64 --asm --with " + file("schedule"));
  EXPECT_THAT(arm.out, HasSubstr("fmla")) << arm.err;
  const Answer gpu = run("kernel " + file("gemm") + " --target cuda:arch=sm_90 --ir --asm");
  EXPECT_EQ(gpu.code, 0) << gpu.err;
  EXPECT_THAT(gpu.out, AllOf(HasSubstr("barrier"), HasSubstr("__syncthreads();")));
  // A schedule and a workload may be read as they are shown, and are checked also if nothing is made of them.
  std::ofstream(file("shown")) << "# matmul\n# x86_64, 1 threads\n" << schedule.out << "\n";
  std::ofstream(file("shown gemm")) << "# matmul\n" << *read_file(file("gemm"));
  EXPECT_EQ(run("kernel '" + file("shown gemm") + "' --with " + file("shown")).out, schedule.out);
  EXPECT_EQ(run("kernel " + file("gemm") + " --with " + file("gemm")).code, 2);
  std::ofstream(file("other")) << "schedule v1\ninline t7\n";
  const Answer other = run("kernel " + file("gemm") + " --with " + file("other"));
  EXPECT_NE(other.code, 0);
  EXPECT_EQ(lines(other.err), 1) << other.err;
  EXPECT_THAT(other.err, HasSubstr(file("other") + ": "));
  EXPECT_THAT(run("kernel " + file("gemm") + " --dim d0=4").err, HasSubstr(file("gemm") + ": "));
  std::ofstream(file("empty"))
      << "workload v1\ninput p0: f32[0]\nstage t0: f32[i0 < 0] = p0[i0]\noutput t0\n";
  EXPECT_THAT(run("kernel " + file("empty")).err, HasSubstr("an axis of extent 0"));
  std::ofstream(file("gemv"))
      << "workload v1\ninput p0: f32[1, 512]\nconstant p1: f32[512, 512]\n"
         "stage t0: f32[i0 < 1, i1 < 512] = reduce sum[r0 < 512] p0[i0, r0] * p1[r0, i1]\n"
         "output t0\n";
  EXPECT_THAT(run("kernel " + file("gemv")).out, Not(HasSubstr("narrow")));
  EXPECT_THAT(run("kernel " + file("gemv") + " --allow bf16").out, HasSubstr("narrow p1 bf16"));
  std::ofstream(file("parallel")) << "schedule v1\nannotate t0 i0 parallel\n";
  const Answer refused =
      run("kernel " + file("gemm") + " --target cuda:arch=sm_90 --asm --with " + file("parallel"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("a parallel loop is for CPUs"));
  EXPECT_EQ(lines(refused.err), 1) << refused.err;
}

TEST_F(Commands, KernelPrintsTheLoopIrAfterAPass) {
  std::ofstream(file("add")) << "workload v1\ninput p0: f32[64]\nstage t0: f32[i0 < 64] = p0[i0] + 1f32\n"
                                "output t0\n";
  std::ofstream(file("tiled")) << "schedule v1\nsplit t0 i0 8 guard\nannotate t0 i0.1 vectorize\n";
  const std::string kernel = "kernel " + file("add") + " --target x86_64:cpu=haswell --with " + file("tiled");
  const Answer before = run(kernel + " --print-after build_loops");
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_THAT(before.out, testing::StartsWith("# after build_loops\nfunction kernel"));
  EXPECT_THAT(before.out, AllOf(HasSubstr("extent 8 vectorized"), Not(HasSubstr("ramp("))));
  const Answer vectors = run(kernel + " --print-after vectorize");
  EXPECT_THAT(vectors.out, AllOf(HasSubstr("ramp("), Not(HasSubstr("vectorized"))));
  const Answer all = run(kernel + " --print-after all --ir");
  EXPECT_THAT(all.out, AllOf(HasSubstr("# after build_loops\n"), HasSubstr("# after form_dots: unchanged\n"),
                             HasSubstr("# after expand_math"), HasSubstr("ramp(")));
  EXPECT_THAT(all.out, testing::EndsWith(run(kernel + " --ir").out));
  const Answer gpu = run("kernel " + file("add") + " --target cuda:arch=sm_90 --print-after all");
  EXPECT_THAT(gpu.out, AllOf(HasSubstr("# after flatten"), Not(HasSubstr("partition_loops"))));
  const nlohmann::json told = nlohmann::json::parse(run(kernel + " --print-after vectorize --json").out,
                                                    nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(told.is_object() && told["passes"].size() == 1u) << told;
  EXPECT_EQ("# after vectorize\n" + told["passes"][0].value("ir", ""), vectors.out);
}

TEST_F(Commands, TasksPrintTheGraphAfterAPass) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  const Answer one = run("tasks " + file("mlp.onnx") + " --print-after fold_affine");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, testing::StartsWith("# after fold_affine\ngraph \""));
  EXPECT_THAT(one.out, HasSubstr("= matmul("));
  const Answer all = run("tasks " + file("mlp.onnx") + " --print-after all");
  EXPECT_THAT(all.out, AllOf(testing::StartsWith("# after remove_dead_code\n"), HasSubstr(": unchanged\n")));
  const nlohmann::json told =
      nlohmann::json::parse(run("tasks " + file("mlp.onnx") + " --print-after all --json").out, nullptr,
                            /*allow_exceptions=*/false);
  ASSERT_TRUE(told.is_object());
  EXPECT_EQ(told["passes"][0].value("pass", ""), "remove_dead_code");
}

TEST_F(Commands, KernelSaysWhyAStepOfAScheduleIsNotLegal) {
  std::ofstream(file("add")) << "workload v1\ninput p0: f32[32]\nstage t0: f32[i0 < 32] = p0[i0] + 1f32\n"
                                "output t0\n";
  std::ofstream(file("shifted")) << "schedule v1\nsplit t0 i0 48 shift\n";
  const Answer refused = run("kernel " + file("add") + " --with " + file("shifted"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err,
            "compiler kernel: " + file("shifted") +
                ": step 1 'split t0 i0 48 shift' is not legal: loop i0 of t0 has extent 32, less "
                "than the tile 48; a shifted tail needs at least one whole tile; use guard\n");
}

TEST_F(Commands, KernelTellsScriptsWhatItTellsPeople) {
  std::ofstream(file("add")) << "workload v1\ninput p0: f32[64]\nstage t0: f32[i0 < 64] = p0[i0] + 1f32\n"
                                "output t0\n";
  const Answer all =
      run("kernel " + file("add") + " --schedule --ir --asm --manifest --json -o " + file("add.so"));
  const nlohmann::json told = nlohmann::json::parse(all.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(told.is_object()) << all.out << all.err;
  EXPECT_EQ(told.value("schedule", ""), run("kernel " + file("add")).out);
  EXPECT_EQ(told.value("ir", "") + told.value("asm", ""), run("kernel " + file("add") + " --ir --asm").out);
  EXPECT_TRUE(told.value("manifest", nlohmann::json()).is_object()) << all.out;
  EXPECT_EQ(told.value("output", ""), file("add.so"));
  EXPECT_GT(fs::file_size(file("add.so")), 0u);
  const Answer little = run("kernel " + file("add") + " --json");
  EXPECT_EQ(nlohmann::json::parse(little.out, nullptr, /*allow_exceptions=*/false).size(), 1u) << little.out;
  EXPECT_THAT(little.out, HasSubstr("\"schedule\""));
}

TEST_F(Commands, RunTakesEachInputOnce) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  ASSERT_EQ(run("build " + file("mlp.onnx") + " -o " + file("model")).code, 0);
  const graph::Graph network = *frontends::import_file(file("mlp.onnx"), {});
  const graph::NodeId input = network.inputs()[0];
  const std::vector<int64_t> shape = network.shape(input);
  const std::vector<float> zeros(static_cast<size_t>(*graph::element_count(shape)));
  const graph::HostTensor value = {network.node(input).name, tensor::Element::kFloat32, shape,
                                   graph::make_blob(zeros)};
  ASSERT_TRUE(onnx::write_tensor(file("x.npy"), value).ok());
  const std::string given = " --input " + value.name + "=" + file("x.npy");
  EXPECT_EQ(run("run " + file("model") + given + " -o " + file("out")).code, 0);
  const Answer twice = run("run " + file("model") + given + given + " -o " + file("out"));
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, AllOf(HasSubstr("given twice"), HasSubstr(value.name)));
}

TEST_F(Commands, StrictBuildOfAnUntunedNetworkNamesWhatIsMissing) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  const Answer answer = run("build " + file("mlp.onnx") + " --strict -o " + file("out"));
  EXPECT_EQ(answer.code, 4);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("matmul+add+relu 1x1024"), HasSubstr("--db")));
  EXPECT_FALSE(fs::exists(file("out")));
}

TEST_F(Commands, BuildThatDoesNotFitLeavesNoEmptyFolder) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  const auto build_within_a_limit = [this](const std::string& folder) {
    return std::system(("trap '' XFSZ; ulimit -f 8; " TF_BINARY_DIR "/bin/compiler build " +
                        file("mlp.onnx") + " -o " + folder + " >/dev/null 2>&1")
                           .c_str());
  };
  EXPECT_NE(build_within_a_limit(file("out")), 0);
  EXPECT_FALSE(fs::exists(file("out")));
  fs::create_directory(file("mine"));
  EXPECT_NE(build_within_a_limit(file("mine")), 0);
  EXPECT_TRUE(fs::exists(file("mine"))) << "it was there before";
}

TEST_F(Commands, BuildRunBenchAndLockedRebuild) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  const std::string folder = file("model");
  Answer answer = run("build " + file("mlp.onnx") + " -o " + folder);
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("5 kernels: 0 tuned, 0 untuned, 5 default (without a record)"));
  const std::string library = *read_file(folder + "/model.so");
  EXPECT_THAT(answer.out, HasSubstr("wrote model.so, model.h and tuning.lock to "));
  answer = run("build " + file("mlp.onnx") + " --locked -o " + folder);
  ASSERT_EQ(answer.code, 0);
  EXPECT_THAT(answer.out, HasSubstr("wrote model.so and model.h to ")) << "the lock stays as it is";
  EXPECT_EQ(*read_file(folder + "/model.so"), library);

  answer = run("check " + file("mlp.onnx"));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.out,
              HasSubstr("mlp.onnx: not a test: give a folder with model.onnx and test_data_set_0"));

  answer = run("run " + folder + " --output " + file("out"));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("--input input=FILE"));

  answer = run("bench " + folder + " --runs 3 --profile --json --svg " + file("profile.svg"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(*read_file(file("profile.svg")), AllOf(testing::StartsWith("<svg "), HasSubstr(">fc1<")));
  EXPECT_EQ(run("bench " + folder + " --profile --svg " + folder + "/model.so").code, 2);
  for (const char* key : {"\"median_ms\"", "\"samples_ms\"", "\"share_of_peak\"", "\"fc1\""})
    EXPECT_THAT(answer.out, HasSubstr(key));
}

TEST_F(Commands, BuildSaysWhatNumericsEachKernelUsesAndLocksThem) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  const std::string build = "build " + file("mlp.onnx") + " -o " + file("model");
  const Answer narrow = run(build + " --allow bf16,winograd");
  ASSERT_EQ(narrow.code, 0) << narrow.err;
  EXPECT_THAT(narrow.out, AllOf(HasSubstr("numerics"), HasSubstr("  bf16      ")));
  EXPECT_THAT(narrow.err, AllOf(HasSubstr("--allow winograd has no effect: no kernel uses it"),
                                Not(HasSubstr("--allow bf16"))));
  const std::string library = *read_file(file("model/model.so"));
  for (const char* allow : {"", " --allow bf16", " --allow bf16,fp16,winograd"}) {
    const Answer locked = run(build + " --locked" + allow);
    EXPECT_EQ(locked.code, 1) << allow;
    EXPECT_THAT(locked.err, HasSubstr("give --allow bf16,winograd"));
  }
  EXPECT_EQ(run(build + " --locked --allow winograd,bf16").code, 0);
  EXPECT_EQ(*read_file(file("model/model.so")), library);
  ASSERT_EQ(run(build + " --json").code, 0);
  const Answer plain = run(build + " --locked --allow bf16");
  EXPECT_EQ(plain.code, 1);
  EXPECT_THAT(plain.err, HasSubstr("omit it"));
}

TEST_F(Commands, ALibraryThatIsCutOffOrForAnotherProcessorIsNotLoaded) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  ASSERT_EQ(run("build " + file("mlp.onnx") + " -o " + file("model")).code, 0);
  const std::string path = file("model/model.so"), library = *read_file(path);
  const auto answer_to = [&](const std::string& bytes) {
    EXPECT_TRUE(write_file(path, bytes).ok());
    const Answer answer = run("bench " + file("model") + " --runs 1");
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
    EXPECT_EQ(answer.code, 1);
    return answer.err;
  };
  for (const size_t bytes : {library.size() - 1, library.size() / 3, size_t{100}})
    EXPECT_THAT(answer_to(library.substr(0, bytes)), HasSubstr("truncated after"));
  EXPECT_THAT(answer_to("short"), HasSubstr("not a shared library"));
  std::string foreign = library;
  foreign[18] = static_cast<char>(0xf3);  // e_machine: RISC-V
  foreign[19] = 0;
  EXPECT_THAT(answer_to(foreign), HasSubstr("is built for riscv64, but this machine is "));
}

TEST_F(Commands, BenchComparesBuildsOfOneNetworkOnly) {
  const auto build = [&](const std::string& name, const std::vector<int64_t>& shape, const std::string& op) {
    onnx::ModelWriter model;
    model.input("x", shape);
    if (op == "MatMul") model.floats("w", {64, 64}, std::vector<float>(64 * 64, 0.5f));
    model.node(op, op == "MatMul" ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"}, "y");
    model.output("y");
    ASSERT_TRUE(write_file(file(name + ".onnx"), model.bytes()).ok());
    const Answer built = run("build " + file(name + ".onnx") + " -o " + file(name));
    ASSERT_EQ(built.code, 0) << built.err;
  };
  build("relu", {8, 64}, "Relu");
  build("again", {8, 64}, "Relu");
  build("larger", {9, 64}, "Relu");
  build("product", {8, 64}, "MatMul");
  const auto bench = [&](const std::string& other) {
    return run("bench --runs 3 " + file("relu") + " " + file(other));
  };
  const Answer same = bench("again"), different = bench("larger"), unlike = bench("product");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.err, Not(HasSubstr("one network")));
  const std::string first = file("relu"), second = file("again");
  EXPECT_THAT(same.out, testing::StartsWith("build "));
  EXPECT_THAT(same.out, HasSubstr("  ratio  95% interval\n"));
  EXPECT_THAT(same.out,
              HasSubstr("\n3 rounds; ratio: median of the ratios to " + first + " in each round; time: "));
  EXPECT_THAT(same.out, testing::ContainsRegex("\n" + second +
                                               " is (faster|slower|not measurably faster or slower) than " +
                                               first + "\n$"));
  EXPECT_EQ(lines(same.out), 5) << "a header, two builds, how, and what came of it: " << same.out;
  EXPECT_EQ(different.code, 2);
  EXPECT_EQ(lines(different.err), 1) << different.err;
  EXPECT_THAT(different.err, AllOf(HasSubstr("x f32[8, 64] -> y f32[8, 64]"), HasSubstr("x f32[9, 64]")));
  EXPECT_EQ(unlike.code, 0) << unlike.err;
  EXPECT_THAT(unlike.err, HasSubstr("may be builds of different networks"));
}

TEST_F(Commands, BenchTellsProgramsTheSameOfBuildsAsPeople) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  for (const char* name : {"one", "two"})
    ASSERT_EQ(run("build " + file("mlp.onnx") + " -o " + file(name)).code, 0);
  const Answer answer = run("bench --json --runs 7 " + file("one") + " " + file("two"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const nlohmann::json builds = nlohmann::json::parse(answer.out)["builds"];
  ASSERT_EQ(builds.size(), 2u);
  EXPECT_EQ(builds[0]["verdict"], "first");
  EXPECT_DOUBLE_EQ(builds[0]["time_ms"], builds[0]["median_ms"]);
  const double ratio = builds[1]["ratio"], time_ms = builds[1]["time_ms"], first_ms = builds[0]["time_ms"];
  EXPECT_DOUBLE_EQ(time_ms, first_ms * ratio) << "a time and a ratio that contradict each other help nobody";
  const double low = builds[1]["ratio_interval"][0], high = builds[1]["ratio_interval"][1];
  EXPECT_EQ(builds[1]["verdict"], high < 1  ? "faster"
                                  : low > 1 ? "slower"
                                            : "not measurably faster or slower");
}

TEST_F(Commands, BenchWarnsOfThreadsThatShareACpu) {
  ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
  ASSERT_EQ(run("build " + file("mlp.onnx") + " --threads 2 -o " + file("model")).code, 0);
  const std::string cpu = std::to_string(sched_getcpu());
  const std::string bench = "bench " + file("model") + " --runs 2 --affinity " + cpu;
  const Answer shared = run(bench + "," + cpu + " --threads 2"), alone = run(bench);
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_THAT(shared.err, HasSubstr("2 threads share 1 CPU:"));
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.err, Not(HasSubstr("share")));
}

TEST_F(Commands, AnInterruptedBuildLeavesNothingBehind) {
  ASSERT_EQ(run("zoo resnet18 -o " + file("net.onnx")).code, 0);
  const std::string folder = file("model");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    freopen("/dev/null", "w", stdout);
    freopen(file("said").c_str(), "w", stderr);
    execl(TF_BINARY_DIR "/bin/compiler", "compiler", "build", file("net.onnx").c_str(), "-o", folder.c_str(),
          "--jobs", "1", nullptr);
    _exit(127);
  }
  while (!fs::exists(folder) || fs::is_empty(folder)) usleep(1000);
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(*read_file(file("said")), "compiler build: interrupted; nothing was written\n");
}

}  // namespace
}  // namespace tf
