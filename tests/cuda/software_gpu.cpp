#include "cuda/software_gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "source_dir.h"
#include "vernier/backends/cuda/programs/kernel_texts.h"

namespace vernier::cuda {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBefore = R"(
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include "vernier/numeric/minifloat.h"
using namespace std;
struct Place3 { unsigned x = 1, y = 1, z = 1; };
static thread_local Place3 threadIdx, blockIdx, blockDim, gridDim;
static thread_local std::barrier<>* all_threads;
static float dynamic_memory[16384];
#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads() (all_threads == nullptr ? void() : all_threads->arrive_and_wait())
static float __uint_as_float(unsigned x) { return bit_cast<float>(x); }
static unsigned __float_as_uint(float x) { return bit_cast<unsigned>(x); }
static double __longlong_as_double(long long x) { return bit_cast<double>(x); }
)";

// What conversions.cu has, without PTX.
constexpr const char* kConversions = R"(
template <class T> inline T wide(T x) { return x; }
inline f32 wide(f16 x) { return (f32)(double)bit_cast<vernier::Float16>(x.bits); }
inline f32 wide(bf16 x) { return (f32)(double)bit_cast<vernier::BFloat16>(x.bits); }
template <class T> struct Narrow { template <class S> static T of(S x) { return (T)x; } };
template <> struct Narrow<f16> { static f16 of(f64 x) { return {bit_cast<u16>(vernier::Float16(x))}; } };
template <> struct Narrow<bf16> { static bf16 of(f64 x) { return {bit_cast<u16>(vernier::BFloat16(x))}; } };
template <class T, class S> inline T narrow(S x) { return Narrow<T>::of(x); }
)";

struct HostProgram {
  std::string source;
  std::string library;  // the path of what it became
};

const fs::path& folder() {
  static const fs::path made = [] {
    fs::path path = fs::temp_directory_path() / ("software_gpu_" + std::to_string(getpid()));
    fs::create_directories(path);
    std::atexit([] { fs::remove_all(folder()); });
    return path;
  }();
  return made;
}

// The text for the host: types stay, conversions go, and a function calls the kernel by the address of its
// parameters.
std::string host_text(const std::string& source) {
  const std::string conversions(kernel_text("conversions"));
  const size_t types_end = conversions.find("// To what arithmetic is done in.");
  std::string text = source;
  const size_t at = text.find(conversions);
  text.replace(at, conversions.size(), conversions.substr(0, types_end) + kConversions);
  std::smatch kernel;
  std::regex_search(text, kernel, std::regex(R"(run\(const (\w+) p\))"));
  const std::string parameters = kernel[1];
  const size_t shared = text.find("extern __shared__ f32 scores[];");
  if (shared != std::string::npos)
    text.replace(shared, std::strlen("extern __shared__ f32 scores[];"),
                 "static f32* scores = dynamic_memory;");
  return std::string(kBefore) + text + "\nextern \"C\" bool waits() { return " +
         (source.find("__shared__ T tile") != std::string::npos || source.find("kTile") != std::string::npos
              ? "true"
              : "false") +
         "; }\nextern \"C\" void call(const void* parameters, const unsigned* place, std::barrier<>* "
         "threads) {\n"
         "  threadIdx = {place[0], 0, 0}; blockDim = {place[1], 1, 1};\n"
         "  blockIdx = {place[2], place[3], place[4]}; gridDim = {place[5], place[6], place[7]};\n"
         "  all_threads = threads;\n  run(*(const " +
         parameters + "*)parameters);\n}\nextern \"C\" unsigned long parameter_bytes() { return sizeof(" +
         parameters + "); }\n";
}

CompilerStatus compile(ProgramHandle handle, int, const char* const*) {
  auto& program = *reinterpret_cast<HostProgram*>(handle);
  static int count = 0;
  const fs::path base = folder() / std::to_string(count++);
  const std::string text = base.string() + ".cpp", library = base.string() + ".so";
  std::ofstream(text) << host_text(program.source);
  const std::string command = "c++ -std=c++20 -O1 -ffp-contract=off -w -shared -fPIC -I'" +
                              (test::source_dir() / "src").string() + "' '" + text + "' -o '" + library + "'";
  program.library = library;
  return std::system(command.c_str()) == 0 ? 0 : 6;
}

using Call = void (*)(const void*, const unsigned*, std::barrier<>*);

void run_block(Call call, const void* parameters, std::array<unsigned, 8> place, unsigned threads) {
  place[1] = threads;
  if (threads == 1) return call(parameters, place.data(), nullptr);
  std::barrier<> all(threads);
  std::vector<std::jthread> running;
  for (unsigned thread = 0; thread < threads; ++thread) {
    place[0] = thread;
    running.emplace_back([=, &all] {
      call(parameters, place.data(), &all);
      all.arrive_and_drop();
    });
  }
}

void run_grid(void* library, const void* parameters, const std::array<unsigned, 4>& grid) {
  const auto call = reinterpret_cast<Call>(dlsym(library, "call"));
  const bool waits = reinterpret_cast<bool (*)()>(dlsym(library, "waits"))();
  const auto [x, y, z, threads] = grid;
  for (unsigned k = 0; k < z; ++k) {
    for (unsigned j = 0; j < y; ++j) {
      for (unsigned i = 0; i < x; ++i)
        run_block(call, parameters, {0, 1, i, j, k, x, y, z}, waits ? threads : 1);
    }
  }
  ++fake_driver().launches;
}

Status launch(FunctionHandle function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
              unsigned, unsigned, StreamHandle, void** arguments, void**) {
  void* library = reinterpret_cast<void*>(function);
  const size_t bytes = reinterpret_cast<size_t (*)()>(dlsym(library, "parameter_bytes"))();
  const auto* from = static_cast<const std::byte*>(arguments[0]);
  fake_driver().enqueue(
      [library, parameters = std::vector<std::byte>(from, from + bytes),
       grid = std::array{x, y, z, threads}] { run_grid(library, parameters.data(), grid); });
  return kSuccess;
}

}  // namespace

bool has_host_compiler() {
  static const bool has = std::system("c++ --version > /dev/null 2>&1") == 0;
  return has;
}

SoftwareGpu reset_software_gpu() {
  SoftwareGpu gpu{reset_fake_driver(), {}};
  gpu.driver.load_module = [](ModuleHandle* module, const void* image) {
    void* library = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
    *module = reinterpret_cast<ModuleHandle>(library);
    return library == nullptr ? 1 : kSuccess;
  };
  gpu.driver.find_function = [](FunctionHandle* function, ModuleHandle module, const char*) {
    *function = reinterpret_cast<FunctionHandle>(module);
    return kSuccess;
  };
  gpu.driver.launch = launch;
  gpu.nvrtc.create = [](ProgramHandle* handle, const char* source, const char*, int, const char* const*,
                        const char* const*) {
    *handle = reinterpret_cast<ProgramHandle>(new HostProgram{source, ""});
    return 0;
  };
  gpu.nvrtc.destroy = [](ProgramHandle* handle) {
    delete reinterpret_cast<HostProgram*>(*handle);
    return 0;
  };
  gpu.nvrtc.compile = compile;
  gpu.nvrtc.error_text = [](CompilerStatus) { return "the compiler of the system does not take it"; };
  gpu.nvrtc.log_size = [](ProgramHandle, size_t* size) { return *size = 0, 0; };
  gpu.nvrtc.cubin_size = [](ProgramHandle handle, size_t* size) {
    return *size = reinterpret_cast<HostProgram*>(handle)->library.size() + 1, 0;
  };
  gpu.nvrtc.cubin = [](ProgramHandle handle, char* code) {
    std::strcpy(code, reinterpret_cast<HostProgram*>(handle)->library.c_str());
    return 0;
  };
  return gpu;
}

}  // namespace vernier::cuda
