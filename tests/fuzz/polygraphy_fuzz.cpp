#include <sys/mman.h>
#include <unistd.h>

#include "target.h"
#include "vernier/data/formats/polygraphy_json.h"

VERNIER_FUZZ_TARGET([](auto bytes, auto) {
  // The reader takes a path; this one leads to memory.
  static const int file = memfd_create("polygraphy", 0);
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    __builtin_trap();
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  const vernier::PolygraphyInputs inputs(path);
  for (size_t i = 0; i < inputs.size(); ++i) inputs.sample(i);
  vernier::read_polygraphy_results(path);
})
