#pragma once
// Owns: work during which other threads have the GIL, also while the interpreter ends. Does not know: what the
// work is.

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace tf::python {

// Others have the GIL while this lives. A daemon thread that would take it back from an interpreter that ends
// waits for the process's end instead: Python ends such a thread by unwinding its stack, which no destructor and
// no object of Python's on it survives.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (const abi::__forced_unwind&) {
      for (;;) ::pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const thread_;
};

}  // namespace tf::python
