#include "vernier/backends/cpu/onednn/imported_functions.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

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

// What the loader knows of one library.
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

}  // namespace vernier::cpu
