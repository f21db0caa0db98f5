// Owns: NVRTC's functions over a C++ compiler: the machine code that it gives is a shared object of this processor, which the
// fake driver loads. Does not know: kernels.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidInput = 3, kCompilation = 6;

struct Program {
  std::string source, cubin, ptx, log;
};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The word before the parenthesis that follows __global__ void [__launch_bounds__(N)].
std::vector<std::string> kernels_of(const std::string& source) {
  std::vector<std::string> names;
  for (size_t at = source.find("__global__"); at != std::string::npos;
       at = source.find("__global__", at + 1)) {
    size_t from = at;
    const size_t bounds = source.find("__launch_bounds__", at);
    if (bounds != std::string::npos && bounds - at < 40) from = source.find(')', bounds);
    const size_t open = source.find('(', from + 1);
    if (open == std::string::npos) break;
    size_t begin = open;
    while (begin > 0 &&
           (isalnum(static_cast<unsigned char>(source[begin - 1])) != 0 || source[begin - 1] == '_'))
      --begin;
    names.push_back(source.substr(begin, open - begin));
  }
  return names;
}

// sm_90 among the options.
int capability_of(int count, const char* const* options) {
  for (int i = 0; i < count; ++i)
    if (const char* arch = std::strstr(options[i], "sm_")) return std::atoi(arch + 3);
  return 0;
}

std::string translation(const Program& program, int capability) {
  const bool has_barriers = program.source.find("__sync") != std::string::npos ||
                            program.source.find("__shfl") != std::string::npos;
  std::string text = "#include \"" TF_CUDA_AS_CPP "\"\n" + program.source +
                     "\nextern \"C\" { int fake_cuda_capability = " + std::to_string(capability) + ";\n";
  for (const std::string& name : kernels_of(program.source))
    text += "int fake_params_" + name + " = fake::count_params(" + name + ");\nint fake_param_bytes_" + name +
            "(int i) { return fake::param_bytes(" + name + ", i); }\nvoid fake_launch_" + name +
            "(void** values, const unsigned* grid, const unsigned* block) { fake::launch<" + name +
            ">(values, grid, block, " + (has_barriers ? "true" : "false") + "); }\n";
  return text + "}\n";
}

int copy(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{source, "", "", ""};
  return kSuccess;
}

int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kSuccess;
}

int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  Program& program = *static_cast<Program*>(handle);
  const int capability = capability_of(count, options);
  if (capability == 0) return kInvalidInput;
  char base[] = "/tmp/fake_nvrtc_XXXXXX";
  const int fd = mkstemp(base);
  if (fd < 0) return kInvalidInput;
  close(fd);
  const std::string path = base;
  std::ofstream(path + ".cpp") << translation(program, capability);
  const std::string command = TF_CXX_COMPILER " -std=c++20 -O1 -w -fno-gnu-unique -shared -fPIC -o " + path +
                              ".so " + path + ".cpp > " + path + ".log 2>&1";
  const int status = std::system(command.c_str());
  program.log = read_all(path + ".log");
  if (status == 0) {
    program.cubin = read_all(path + ".so");
    program.ptx = ".version 9.0\n.target sm_" + std::to_string(capability) + "\n";
    for (const std::string& name : kernels_of(program.source)) {
      program.ptx += ".visible .entry " + name + "()\n";
      program.log += "ptxas info    : Compiling entry function '" + name + "' for 'sm_" +
                     std::to_string(capability) + "'\nptxas info    : Used 32 registers\n";
    }
  }
  for (const char* end : {"", ".cpp", ".so", ".log"}) unlink((path + end).c_str());
  return status == 0 ? kSuccess : kCompilation;
}

// With the zero at its end, as NVRTC counts.
int nvrtcGetProgramLogSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->log.size() + 1;
  return kSuccess;
}
int nvrtcGetProgramLog(void* program, char* log) {
  return copy(static_cast<Program*>(program)->log, log);
}
int nvrtcGetPTXSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->ptx.size() + 1;
  return kSuccess;
}
int nvrtcGetPTX(void* program, char* ptx) {
  return copy(static_cast<Program*>(program)->ptx, ptx);
}
int nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->cubin.size();
  return kSuccess;
}
int nvrtcGetCUBIN(void* handle, char* cubin) {
  const std::string& bytes = static_cast<Program*>(handle)->cubin;
  std::memcpy(cubin, bytes.data(), bytes.size());
  return kSuccess;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 4;
  return kSuccess;
}
int nvrtcGetSupportedArchs(int* archs) {
  for (const int arch : {75, 80, 90, 120}) *archs++ = arch;
  return kSuccess;
}

}  // extern "C"
