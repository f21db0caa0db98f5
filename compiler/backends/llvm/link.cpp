#include "compiler/backends/llvm/link.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/files/temporary_folder.h"
#include "base/files/write_all.h"
#include "base/machine/child_process.h"
#include "base/status.h"
#include "compiler/backends/llvm/library/static_archive.h"
#include "compiler/backends/llvm/library/weights_segment.h"
#include "compiler/backends/llvm/machine.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model_abi.h"
#include "lld/Common/Driver.h"
#include "llvm/MC/MCSubtargetInfo.h"

LLD_HAS_DRIVER(elf)

namespace tf::backends {
namespace {

namespace fs = std::filesystem;

// In memory where the system has such a place.
absl::StatusOr<TemporaryFolder> folder_for_linking() {
  std::error_code ignored;
  return TemporaryFolder::make_in({"/dev/shm", fs::temp_directory_path(ignored).string()});
}

absl::StatusOr<std::string> emulation(const target::Target& target) {
  switch (target.arch) {
    case target::Arch::kX86_64:
      return "elf_x86_64";
    case target::Arch::kAArch64:
      return "aarch64linux";
    case target::Arch::kArmV7:
      return "armelf_linux_eabi";
    case target::Arch::kRiscV64:
      return "elf64lriscv";
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("target ", target.text(), " has no ELF shared objects; ask for an object file"));
  }
}

struct LldRun {
  bool ok = false;
  std::string errors;  // in lld's words
};

LldRun run_lld(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  LldRun run;
  std::string out;
  llvm::raw_string_ostream out_stream(out), err_stream(run.errors);
  run.ok = lld::lldMain(argv, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}}).retCode == 0;
  return run;
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t size = read(fd, part, sizeof part);
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
    text.append(part, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
}

constexpr std::string_view kGlobalOffsetTable = "_GLOBAL_OFFSET_TABLE_";

// In a child process. lld 19 keeps a pointer to the symbol _GLOBAL_OFFSET_TABLE_ of the last link that had
// one, as the runtime's does on x86-64, and the next link without one writes through it, to memory that has
// become something else: it crashes, or its output is wrong.
absl::StatusOr<LldRun> run_lld_apart(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot link: no pipe");
  const OwnedFd here(ends[0]);
  OwnedFd there(ends[1]);
  const pid_t pid = fork_dependent();  // whoever ends the build worker ends its link
  if (pid < 0) return absl::ErrnoToStatus(errno, "cannot link: no process");
  if (pid == 0) {
    const LldRun run = run_lld(arguments);
    write_all(there.get(), run.errors, "the pipe").IgnoreError();  // the exit code says enough
    _exit(run.ok ? 0 : 1);
  }
  there.reset();
  LldRun run{.errors = read_all(here.get())};
  const int status = wait_for_end(pid);
  if (WIFSIGNALED(status)) absl::StrAppend(&run.errors, "it was killed by signal ", WTERMSIG(status));
  run.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return run;
}

absl::Status status_of(const LldRun& run) {
  if (run.ok) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("lld: ", absl::StrReplaceAll(run.errors, {{"\n", "; "}})));
}

// One thread, and nothing in the output that differs from run to run.
absl::StatusOr<std::vector<std::string>> shared_options(const target::Target& target) {
  TF_ASSIGN_OR_RETURN(std::string format, emulation(target));
  return std::vector<std::string>{"ld.lld",
                                  "-m",
                                  format,
                                  "-shared",
                                  "--threads=1",
                                  "--build-id=none",
                                  "--hash-style=gnu",
                                  "-z",
                                  "noexecstack",
                                  "-z",
                                  "now",
                                  "--gc-sections",
                                  "-z",
                                  "relro"};
}

// Objects into one. Groups, of which a program's linker keeps one of each name, would mix two models.
absl::StatusOr<std::vector<std::string>> object_options(const target::Target& target) {
  TF_ASSIGN_OR_RETURN(std::string format, emulation(target));
  return std::vector<std::string>{"ld.lld", "-m", format, "-r", "--threads=1", "--force-group-allocation"};
}

// The functions of model.h, by what follows their prefix.
#define TF_NAME(name) #name,
constexpr std::string_view kModelFunctions[] = {TF_MODEL_FUNCTIONS(TF_NAME)};
#undef TF_NAME

// The features that LLVM may use in kernels: what the target asks for, and what that implies.
std::vector<std::string> used_features(const llvm::TargetMachine& machine, const target::Target& target) {
  std::vector<std::string> used;
  for (const std::string& feature : target::known_features(target.arch)) {
    if (machine.getMCSubtargetInfo()->checkFeatures("+" + feature)) used.push_back(feature);
  }
  return used;
}

// Puts the weights after all else: code then reaches all else, however large they are.
constexpr std::string_view kWeightsLast =
    "SECTIONS { .tf_model_weights : { *(.tf_model_weights) } } INSERT AFTER .bss;";

// A 32-bit process has no room for more, beside its code and activations.
constexpr uint64_t kMost32BitWeightsBytes = uint64_t{1} << 30;

// A program's linker puts them among its code and data, which reach 2 GiB.
constexpr uint64_t kMostArchivedBytes = uint64_t{1} << 30;

absl::Status check_weights(const ModelLink& link, const target::Target& target) {
  const auto too_many = [&](uint64_t most, const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", link.weights_bytes >> 20,
                                                   " MiB of weights; ", what, " at most ", most >> 20));
  };
  if (target.arch == target::Arch::kArmV7 && link.weights_bytes > kMost32BitWeightsBytes)
    return too_many(kMost32BitWeightsBytes, "a 32-bit processor takes");
  if (link.form == LibraryForm::kArchive && link.weights_bytes > kMostArchivedBytes)
    return too_many(kMostArchivedBytes, "a static archive takes");
  return absl::OkStatus();
}

// Assembly that defines the model's tables. The weights take no room.
std::string tables_assembly(const ModelLink& link, const std::string& blob_path,
                            const llvm::TargetMachine& machine, const target::Target& target) {
  auto quoted = [](const std::string& path) {
    return absl::StrCat("\"", absl::StrReplaceAll(path, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
  };
  auto begin = [](std::string_view section, std::string_view flags, std::string_view name, int align,
                  std::string_view type = "progbits") {
    std::string symbol(name);
    return absl::StrCat(".section ", std::string(section), ",\"", std::string(flags), "\",%",
                        std::string(type), "\n.balign ", align, "\n.globl ", symbol, "\n.hidden ", symbol,
                        "\n", symbol, ":\n");
  };
  // In a program's read-only data, by the name that its linker knows.
  const std::string section =
      absl::StrCat(link.form == LibraryForm::kArchive ? ".rodata" : "", kWeightsSection);
  std::string text = begin(section, "a", "tf_model_weights", 4096, "nobits");
  absl::StrAppend(&text, ".zero ", std::max<uint64_t>(1, link.weights_bytes), "\n",
                  begin(".rodata.tf_model_blob", "a", "tf_model_blob", TF_ALIGNMENT), ".incbin ",
                  quoted(blob_path), "\n",
                  begin(".data.rel.ro.tf_model_kernels", "aw", "tf_model_kernels", 8));
  const char* word = target.arch == target::Arch::kArmV7 ? ".4byte " : ".8byte ";
  for (const std::string& kernel : link.kernels) absl::StrAppend(&text, word, kernel, "\n");
  if (link.kernels.empty()) absl::StrAppend(&text, word, "0\n");
  absl::StrAppend(&text, begin(".rodata.tf_model_features", "a", "tf_model_features", 1));
  for (const std::string& feature : used_features(machine, target))
    absl::StrAppend(&text, ".asciz \"", feature, "\"\n");
  absl::StrAppend(&text, ".byte 0\n", ".globl tf_model_prefix\n.type tf_model_prefix,%object\n",
                  ".size tf_model_prefix, ", link.prefix.size() + 1, "\ntf_model_prefix:\n.asciz \"",
                  link.prefix, "\"\n");
  return text;
}

absl::StatusOr<std::string> tables_object(const ModelLink& link, const std::string& blob_path,
                                          const target::Target& target) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target));
  llvm::LLVMContext context;
  llvm::Module module("tables", context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.setModuleInlineAsm(tables_assembly(link, blob_path, *machine, target));
  return to_machine_code(module, *machine, false);
}

}  // namespace

absl::StatusOr<std::string> link_shared(std::string_view object, const target::Target& target) {
  TF_CHECK(object.find(kGlobalOffsetTable) == object.npos);
  TF_ASSIGN_OR_RETURN(const TemporaryFolder folder, folder_for_linking());
  std::string in = folder.file("kernel.o");
  std::string out = folder.file("kernel.so");
  TF_RETURN_IF_ERROR(write_file(in, object));
  TF_ASSIGN_OR_RETURN(std::vector<std::string> arguments, shared_options(target));
  arguments.insert(arguments.end(), {"-o", out, in});
  TF_RETURN_IF_ERROR(status_of(run_lld(arguments)));
  return read_file(out);
}

absl::StatusOr<LinkedModel> link_model(const ModelLink& link, const target::Target& target) {
  TF_CHECK(link.objects.size() <= link.kernels.size());
  TF_RETURN_IF_ERROR(check_weights(link, target));
  const bool shared = link.form == LibraryForm::kShared;
  TF_ASSIGN_OR_RETURN(std::vector<std::string> arguments,
                      shared ? shared_options(target) : object_options(target));
  TF_ASSIGN_OR_RETURN(const TemporaryFolder folder, folder_for_linking());
  const std::string blob = folder.file("model.blob"), runtime = folder.file("runtime.a"),
                    linked = folder.file("model");
  TF_RETURN_IF_ERROR(write_file(blob, link.blob));
  TF_RETURN_IF_ERROR(write_file(runtime, link.runtime_archive));
  TF_ASSIGN_OR_RETURN(std::string tables, tables_object(link, blob, target));
  TF_RETURN_IF_ERROR(write_file(folder.file("tables.o"), tables));
  std::vector<Exported> exported;
  for (const std::string_view name : kModelFunctions)
    exported.emplace_back(absl::StrCat("tf_model_", std::string(name)),
                          absl::StrCat(link.prefix, "_", std::string(name)));
  if (shared) {
    // Local symbols cannot be replaced by those of another model in the same program.
    std::string exports = "{ global: tf_model_prefix; ";
    for (const auto& [from, to] : exported) {
      arguments.push_back(absl::StrCat("--defsym=", to, "=", from));
      absl::StrAppend(&exports, to, "; ");
    }
    TF_RETURN_IF_ERROR(write_file(folder.file("exports"), exports + "local: *; };\n"));
    TF_RETURN_IF_ERROR(write_file(folder.file("sections"), kWeightsLast));
    arguments.insert(arguments.end(),
                     {"-soname=lib" + link.prefix + ".so", "--version-script=" + folder.file("exports"),
                      "--script=" + folder.file("sections")});
  }
  arguments.insert(arguments.end(), {"-o", linked, folder.file("tables.o")});
  for (size_t i = 0; i < link.objects.size(); ++i) {
    arguments.push_back(folder.file(absl::StrCat(i, ".", link.kernels[i], ".o")));
    TF_RETURN_IF_ERROR(write_file(arguments.back(), link.objects[i]));
  }
  if (shared) {
    arguments.insert(arguments.end(), {"--whole-archive", runtime, "--no-whole-archive"});
  } else {
    // Nothing is dropped of one object, so only what is called goes in: drivers of GPUs want a loader of libraries.
    for (const auto& [function, own_name] : exported) arguments.push_back("--undefined=" + function);
    arguments.push_back(runtime);
  }
  TF_ASSIGN_OR_RETURN(const LldRun run, run_lld_apart(arguments));
  TF_RETURN_IF_ERROR(status_of(run));
  TF_ASSIGN_OR_RETURN(std::string library, read_file(linked));
  if (!shared) return static_archive(library, exported, link.weights_bytes);
  if (link.weights_bytes > 0) {
    TF_ASSIGN_OR_RETURN(library, before_weights(std::move(library), link.weights_bytes));
  }
  return LinkedModel{std::move(library), ""};
}

}  // namespace tf::backends
