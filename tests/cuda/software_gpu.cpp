#include "cuda/software_gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <thread>

#include "source_dir.h"
#include "vernier/backends/cuda/programs/kernel_texts.h"

namespace vernier::cuda {

namespace {

namespace fs = std::filesystem;

// Compiled once for all programs, which takes longer than most of them.
constexpr const char* kHeader = R"(
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include "vernier/numeric/minifloat.h"
)";

constexpr const char* kBefore = R"(
#include "header.h"
using namespace std;
struct Place3 { unsigned x = 1, y = 1, z = 1; };
struct PlaceOfThread {
  Place3 thread, block, threads, blocks;
  std::barrier<>* all;
};
extern "C" { PlaceOfThread* (*place_of_thread)(); }
#define threadIdx (place_of_thread()->thread)
#define blockIdx (place_of_thread()->block)
#define blockDim (place_of_thread()->threads)
#define gridDim (place_of_thread()->blocks)
#define all_threads (place_of_thread()->all)
alignas(16) static float dynamic_memory[16384];
#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __syncthreads() (all_threads == nullptr ? void() : all_threads->arrive_and_wait())
template <class T> static T __shfl_xor_sync(unsigned, T x, int mask);
static float __uint_as_float(unsigned x) { return bit_cast<float>(x); }
static unsigned __float_as_uint(float x) { return bit_cast<unsigned>(x); }
static double __longlong_as_double(long long x) { return bit_cast<double>(x); }
static float __fmaf_rz(float a, float b, float c) {
  const double sum = (double)a * b + c;
  const float near = (float)sum;
  return abs((double)near) > abs(sum) ? nextafterf(near, 0) : near;
}
static long long __double_as_longlong(double x) { return bit_cast<long long>(x); }
)";

// This replaces conversions.cu, without PTX.
constexpr const char* kConversions = R"(
template <class T> inline T wide(T x) { return x; }
inline f32 wide(f16 x) { return (f32)(double)bit_cast<vernier::Float16>(x.bits); }
inline f32 wide(bf16 x) { return (f32)(double)bit_cast<vernier::BFloat16>(x.bits); }
template <class T> struct Narrow { template <class S> static T of(S x) { return (T)x; } };
template <> struct Narrow<f16> { static f16 of(f64 x) { return {bit_cast<u16>(vernier::Float16(x))}; } };
template <> struct Narrow<bf16> { static bf16 of(f64 x) { return {bit_cast<u16>(vernier::BFloat16(x))}; } };
template <class T, class S> inline T narrow(S x) { return Narrow<T>::of(x); }
constexpr f32 kLog2E = 1.44269504f;
inline f32 power_of_two(f32 x) { return exp2f(x); }
inline f32 reciprocal(f32 x) { return 1 / x; }
)";

// This replaces warp.cu: each warp exchanges words between its threads, and each thread sums its own results
// in order.
constexpr const char* kWarp = R"(
static u32 exchanged[32][32][6];
static std::barrier<>* warp_threads[32];
extern "C" void begin_block(unsigned threads) {
  for (unsigned warp = 0; warp < threads / 32; ++warp) {
    delete warp_threads[warp];
    warp_threads[warp] = new std::barrier<>(32);
  }
}
static void exchange(const u32* words, int count) {
  const int warp = threadIdx.x / 32;
  warp_threads[warp]->arrive_and_wait();
  for (int i = 0; i < count; ++i) exchanged[warp][threadIdx.x % 32][i] = words[i];
  warp_threads[warp]->arrive_and_wait();
}
template <class T> inline void multiply_add(f32 (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  const u32 words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  exchange(words, 6);
  const auto& lanes = exchanged[threadIdx.x / 32];
  const auto factor = [&](int group, int word, int k) {
    const u32 both = lanes[group * 4 + k % 8 / 2][word];
    return wide(T{(u16)(k % 2 ? both >> 16 : both)});
  };
  const int group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k)
      sums[i] = fmaf(factor(group, i / 2 + k / 8 * 2, k), factor(place * 2 + i % 2, 4 + k / 8, k), sums[i]);
  }
}
template <class T> static T __shfl_xor_sync(unsigned, T x, int mask) {
  if (all_threads == nullptr) return x;  // a block of one thread
  u32 words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &x, sizeof(x));
  exchange(words, sizeof(words) / 4);
  memcpy(&x, exchanged[threadIdx.x / 32][threadIdx.x % 32 ^ mask], sizeof(x));
  return x;
}
inline f32 neighbour(f32 x, int mask) { return __shfl_xor_sync(0, x, mask); }
inline f64 neighbour(f64 x, int mask) { return __shfl_xor_sync(0, x, mask); }
inline f32 normal_power_of_two(f32 x) { return power_of_two(x); }
inline void fetch(void* to, const void* from, bool there) {
  if (there) memcpy(to, from, 16); else memset(to, 0, 16);
}
inline void end_fetches() {}
inline void wait_for_fetches_before() {}
inline u32 __byte_perm(u32 x, u32 y, u32 selected) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= (u32)(both >> (selected >> i * 4 & 7) * 8 & 255) << i * 8;
  return result;
}
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
  text = std::regex_replace(text, std::regex(R"(extern __shared__ f32 (\w+)\[\];)"),
                            "static f32* $1 = dynamic_memory;");
  const std::string warp(kernel_text("warp"));
  text.replace(text.find(warp), warp.size(), kWarp);
  const std::string body = source.substr(source.find(warp) + warp.size());
  const bool waits =
      std::regex_search(body, std::regex("__shared__ T tile|kTile|neighbour\\(|PACKS|LANES [1-9]"));
  return std::string(kBefore) + text + "\nextern \"C\" bool waits() { return " + (waits ? "true" : "false") +
         "; }\nextern \"C\" void call(const void* parameters) {\n  run(*(const " + parameters +
         "*)parameters);\n}\nextern \"C\" unsigned long parameter_bytes() { return sizeof(" + parameters +
         "); }\n";
}

bool compiled(const std::string& arguments) {
  const std::string command = "c++ -std=c++20 -O1 -ffp-contract=off -w -fPIC -I'" +
                              (test::source_dir() / "src").string() + "' " + arguments;
  return std::system(command.c_str()) == 0;
}

bool header_compiled() {
  const std::string header = (folder() / "header.h").string();
  std::ofstream(header) << kHeader;
  return compiled("-x c++-header '" + header + "' -o '" + header + ".gch'");
}

// The path of the library that the text becomes, empty where the compiler refuses it. Threads compile
// beside each other.
std::string library_of(const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, std::string> libraries;
  static int count = 0;
  std::string base;
  {
    const std::lock_guard lock(mutex);
    if (const auto known = libraries.find(text); known != libraries.end()) return known->second;
    if (count == 0 && !header_compiled()) return "";
    base = (folder() / std::to_string(count++)).string();
  }
  std::ofstream(base + ".cpp") << text;
  const bool taken = compiled("-shared '" + base + ".cpp' -o '" + base + ".so'");
  const std::lock_guard lock(mutex);
  return libraries[text] = taken ? base + ".so" : "";
}

}  // namespace

CompilerStatus compile_in_software(ProgramHandle handle, int, const char* const*) {
  auto& program = *reinterpret_cast<HostProgram*>(handle);
  program.library = library_of(host_text(program.source));
  return program.library.empty() ? 6 : 0;
}

namespace {

struct Place3 {
  unsigned x = 1, y = 1, z = 1;
};

// As the text of kBefore declares it. It lies here, not in the libraries: LeakSanitizer crashes where
// hundreds of libraries have variables of threads.
struct PlaceOfThread {
  Place3 thread, block, threads, blocks;
  std::barrier<>* all;
};

PlaceOfThread* place_of_thread() {
  static thread_local PlaceOfThread place;
  return &place;
}

template <class F>
F* function_of(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

struct Launch {
  void* library;
  std::vector<std::byte> parameters;
  Place3 blocks;
  unsigned threads;
};

// Does in all blocks what one thread of each does. end_block() waits for the other threads.
template <class End>
void run_blocks(const Launch& launch, unsigned thread, std::optional<std::barrier<>>& all, End end_block) {
  auto* const call = function_of<void(const void*)>(launch.library, "call");
  const auto [x, y, z] = launch.blocks;
  for (unsigned block = 0; block < x * y * z; ++block) {
    const Place3 place = {block % x, block / x % y, block / (x * y)};
    *place_of_thread() = {
        {thread, 0, 0}, place, {all ? launch.threads : 1, 1, 1}, launch.blocks, all ? &*all : nullptr};
    call(launch.parameters.data());
    end_block();
  }
}

// Kernels whose threads wait for each other have a thread for each of them, others do all with one.
void run_grid(const Launch& launch) {
  std::optional<std::barrier<>> all;
  if (launch.threads == 1 || !function_of<bool()>(launch.library, "waits")()) {
    run_blocks(launch, 0, all, [] {});
  } else {
    const auto begin_block = [&]() noexcept {
      all.emplace(launch.threads);
      function_of<void(unsigned)>(launch.library, "begin_block")(launch.threads);
    };
    begin_block();
    std::barrier blocks(launch.threads, begin_block);
    std::vector<std::jthread> running;
    for (unsigned thread = 0; thread < launch.threads; ++thread) {
      running.emplace_back([&, thread] {
        run_blocks(launch, thread, all, [&] {
          all->arrive_and_drop();
          blocks.arrive_and_wait();
        });
      });
    }
  }
  ++fake_driver().launches;
}

Status launch(FunctionHandle function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
              unsigned, unsigned, StreamHandle, void** arguments, void**) {
  void* library = reinterpret_cast<void*>(function);
  const auto* from = static_cast<const std::byte*>(arguments[0]);
  std::vector<std::byte> parameters(from, from + function_of<size_t()>(library, "parameter_bytes")());
  fake_driver().enqueue(
      [launch = Launch{library, std::move(parameters), {x, y, z}, threads}] { run_grid(launch); });
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
    if (library == nullptr) return 1;
    *static_cast<PlaceOfThread* (**)()>(dlsym(library, "place_of_thread")) = place_of_thread;
    return kSuccess;
  };
  gpu.driver.find_function = [](FunctionHandle* function, ModuleHandle module, const char* name) {
    constexpr Status kNotFound = 500;
    *function = reinterpret_cast<FunctionHandle>(module);
    return dlsym(reinterpret_cast<void*>(module), name) != nullptr ? kSuccess : kNotFound;
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
  gpu.nvrtc.compile = compile_in_software;
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
