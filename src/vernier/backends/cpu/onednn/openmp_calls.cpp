#include "vernier/backends/cpu/onednn/openmp_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/backends/cpu/onednn/invalid_operations.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

#if defined(__x86_64__) && defined(__LP64__)
constexpr bool kKnown = true;
bool is_function_slot(uint64_t info) {
  return ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT || ELF64_R_TYPE(info) == R_X86_64_GLOB_DAT;
}
#else
constexpr bool kKnown = false;
bool is_function_slot(uint64_t) {
  return false;
}
#endif

// Holds what the loader knows of one library.
struct Library {
  const void* inside;  // code of it
  bool found = false;
  uintptr_t base = 0;
  uintptr_t relro = 0, relro_end = 0;  // what the loader made read-only after it had filled it in
  const ElfW(Dyn) * dynamic = nullptr;
};

int look_at(dl_phdr_info* info, size_t /*size*/, void* data) {
  Library candidate{.inside = static_cast<Library*>(data)->inside, .base = info->dlpi_addr};
  const auto address = reinterpret_cast<uintptr_t>(candidate.inside);
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const uintptr_t begin = candidate.base + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD && address >= begin && address < end) candidate.found = true;
    if (segment.p_type == PT_DYNAMIC) candidate.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_GNU_RELRO) {
      candidate.relro = begin;
      candidate.relro_end = end;
    }
  }
  if (!candidate.found) return 0;
  *static_cast<Library*>(data) = candidate;
  return 1;
}

struct Import {
  std::string_view name;
  void** slot;
};

std::vector<Import> imports_of(const Library& library) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> tables[2];
  uintptr_t starts[2] = {};
  size_t bytes[2] = {};
  for (const ElfW(Dyn)* entry = library.dynamic; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr); break;
      case DT_STRTAB: names = reinterpret_cast<const char*>(entry->d_un.d_ptr); break;
      case DT_JMPREL: starts[0] = entry->d_un.d_ptr; break;
      case DT_PLTRELSZ: bytes[0] = entry->d_un.d_val; break;
      case DT_RELA: starts[1] = entry->d_un.d_ptr; break;
      case DT_RELASZ: bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  std::vector<Import> imports;
  if (symbols == nullptr || names == nullptr) return imports;
  for (size_t i = 0; i < 2; ++i)
    tables[i] = {reinterpret_cast<const ElfW(Rela)*>(starts[i]), bytes[i] / sizeof(ElfW(Rela))};
  for (const auto& table : tables) {
    for (const ElfW(Rela) & relocation : table) {
      if (!is_function_slot(relocation.r_info)) continue;
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
      imports.push_back(
          {names + symbol.st_name, reinterpret_cast<void**>(library.base + relocation.r_offset)});
    }
  }
  return imports;
}

// Imports and what replaces them; empty, with `reason`, unless both agree.
std::vector<std::pair<void**, void*>> matched(const std::vector<Import>& imports,
                                              std::span<const char* const> prefixes,
                                              std::span<const Replacement> replacements,
                                              std::string& reason) {
  std::vector<std::pair<void**, void*>> matches;
  std::vector<bool> used(replacements.size());
  for (const Import& import : imports) {
    bool concerns = false;
    for (const char* prefix : prefixes) concerns = concerns || import.name.starts_with(prefix);
    if (!concerns) continue;
    size_t i = 0;
    while (i < replacements.size() && import.name != replacements[i].function) ++i;
    if (i == replacements.size()) {
      reason = fmt::format("the library imports '{}', which is not known here", import.name);
      return {};
    }
    used[i] = true;
    matches.emplace_back(import.slot, replacements[i].by);
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    reason = fmt::format("the library does not import '{}'", replacements[i].function);
    return {};
  }
  return matches;
}

}  // namespace

std::string replace_imports(const void* inside, std::span<const char* const> prefixes,
                            std::span<const Replacement> replacements) {
  if (!kKnown) return "imports are replaced on x86-64 only";
  Library library{.inside = inside};
  dl_iterate_phdr(look_at, &library);
  if (!library.found || library.dynamic == nullptr) return "the library is not a shared one";
  std::string reason;
  const auto matches = matched(imports_of(library), prefixes, replacements, reason);
  if (!reason.empty()) return reason;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = library.relro / page * page, end = library.relro_end / page * page;
  auto* const area = reinterpret_cast<void*>(begin);
  const bool is_read_only = end > begin;
  if (is_read_only && ::mprotect(area, end - begin, PROT_READ | PROT_WRITE) != 0)
    return fmt::format("the library's table of imports cannot be changed: {}", std::strerror(errno));
  for (const auto& [slot, by] : matches) __atomic_store_n(slot, by, __ATOMIC_RELEASE);
  if (is_read_only) ::mprotect(area, end - begin, PROT_READ);
  return "";
}

namespace {

// Holds what OpenMP's functions tell the calling thread. Regions inside regions have one thread.
struct Region {
  int thread = 0, threads = 1;
  bool inside = false;
};
thread_local Region region;
thread_local int team_threads = 0;     // of the next region; 0: as many as the process uses
thread_local int threads_at_team = 0;  // what thread_count() was when the team was told
thread_local TeamKind team_kind_of_thread = TeamKind::kChunks;

int max_threads() {
  // A limit that was set since is for what is made inside, weights that are packed on one thread, say.
  const int threads = thread_count();
  return team_threads > 0 && threads == threads_at_team ? team_threads : threads;
}

struct Call {
  void (*body)(void*);
  void* data;
  int threads;
  InvalidOperations* watch;
  std::barrier<>* barrier;  // null: the threads are run in any order
};
thread_local const Call* call_of_thread = nullptr;

void run_thread(void* data, int64_t thread) {
  const Call& call = *static_cast<const Call*>(data);
  const Region before = std::exchange(region, {static_cast<int>(thread), call.threads, call.threads > 1});
  const Call* const call_before = std::exchange(call_of_thread, &call);
  if (call.watch != nullptr)
    call.watch->watch([&] { call.body(call.data); });
  else
    call.body(call.data);
  call_of_thread = call_before;
  region = before;
}

void run_region(void (*body)(void*), void* data, unsigned wanted, unsigned /*flags*/) {
  Call call{body, data, wanted > 0 ? static_cast<int>(wanted) : max_threads(), InvalidOperations::of_thread(),
            nullptr};
  const ChunkFunction work{run_thread, &call};
  const bool alone = region.inside || inside_parallel_work() || call.threads == 1;
  if (!alone && team_kind_of_thread == TeamKind::kChunks)
    return ThreadPool::instance().run(call.threads, thread_count(), work);
  if (!alone && team_kind_of_thread == TeamKind::kLastFirst) {
    for (int thread = call.threads; thread-- > 0;) run_thread(&call, thread);
    return;
  }
  if (!alone) {
    std::barrier<> barrier(call.threads);
    call.barrier = &barrier;
    if (ThreadPool::instance().run_together(call.threads, work)) return;
    call.barrier = nullptr;
  }
  call.threads = 1;  // as OpenMP does where it has no more threads
  run_thread(&call, 0);
}

void meet() {
  if (call_of_thread == nullptr || call_of_thread->threads == 1) return;
  if (call_of_thread->barrier != nullptr) return call_of_thread->barrier->arrive_and_wait();
  // Its threads run one after the other, and the first would wait for ever.
  std::fputs("vernier: a primitive of oneDNN waits for its threads, which team_kind() does not know\n",
             stderr);
  std::abort();
}

int thread_number() {
  return region.thread;
}
int thread_total() {
  return region.threads;
}
int is_inside() {
  return region.inside ? 1 : 0;
}

// Limits the OpenMP runtime that oneDNN would use.
void limit_openmp_to_one_thread() {
  if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace

const std::string& take_openmp_calls() {
  static const std::string reason = [] {
    constexpr const char* kPrefixes[] = {"GOMP_", "omp_", "__kmpc_"};
    const Replacement replacements[] = {{"GOMP_parallel", reinterpret_cast<void*>(run_region)},
                                        {"GOMP_barrier", reinterpret_cast<void*>(meet)},
                                        {"omp_get_max_threads", reinterpret_cast<void*>(max_threads)},
                                        {"omp_get_num_threads", reinterpret_cast<void*>(thread_total)},
                                        {"omp_get_thread_num", reinterpret_cast<void*>(thread_number)},
                                        {"omp_in_parallel", reinterpret_cast<void*>(is_inside)}};
    // The function's address in the library itself, not that of a stub in the program.
    const void* inside = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
    return replace_imports(inside, kPrefixes, replacements);
  }();
  return reason;
}

OneDnnTeam::OneDnnTeam(int threads, TeamKind kind)
    : threads_before_(std::exchange(team_threads, threads)),
      count_before_(std::exchange(threads_at_team, thread_count())),
      kind_before_(std::exchange(team_kind_of_thread, kind)) {
  if (!take_openmp_calls().empty()) limit_openmp_to_one_thread();
}

OneDnnTeam::~OneDnnTeam() {
  team_threads = threads_before_;
  threads_at_team = count_before_;
  team_kind_of_thread = kind_before_;
}

// oneDNN 2.6.3: of the forward primitives only gemm's threads wait for each other, where they share a copy of
// a matrix or split the sums of one.
TeamKind team_kind(std::string_view implementation) {
  constexpr std::string_view kChunks[] = {"brg", "jit", "simple", "wino", "ref", "dw", "nchw", "nspc"};
  const bool is_known = std::any_of(std::begin(kChunks), std::end(kChunks),
                                    [&](std::string_view name) { return implementation.starts_with(name); });
  return is_known && implementation.find("gemm:") == std::string_view::npos ? TeamKind::kChunks
                                                                            : TeamKind::kTogether;
}

}  // namespace vernier::cpu
