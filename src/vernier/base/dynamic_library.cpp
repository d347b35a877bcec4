#include "vernier/base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

namespace vernier {

std::optional<DynamicLibrary> DynamicLibrary::open(const std::filesystem::path& path, Symbols symbols,
                                                   std::string& reason) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | (symbols == Symbols::kShared ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle == nullptr) {
    const char* error = dlerror();
    reason = error == nullptr ? "it cannot be opened" : error;
    return std::nullopt;
  }
  std::filesystem::path where = path;
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map->l_name != nullptr &&
      *map->l_name != 0)
    where = map->l_name;
  return DynamicLibrary(handle, std::move(where));
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace vernier
