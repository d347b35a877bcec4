#include "source_dir.h"

namespace vernier::test {

std::filesystem::path source_dir() {
  return VERNIER_SOURCE_DIR;
}

}  // namespace vernier::test
