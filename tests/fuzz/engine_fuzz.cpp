#include "target.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/manifest.h"

// Engine files; hashes keep what is inside from being reached, so a manifest comes alone, too.
VERNIER_FUZZ_TARGET([](auto bytes, auto text) {
  if (!text.starts_with('{')) {
    vernier::EngineFile::read(bytes, nullptr);
    return;
  }
  const std::string once = vernier::Manifest::parse(text).json();
  if (vernier::Manifest::parse(once).json() != once) __builtin_trap();
})
