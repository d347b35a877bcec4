#include "target.h"
#include "vernier/ir/text.h"

// Text that parses must print, and the print must parse to the same text.
VERNIER_FUZZ_TARGET([](auto, auto text) {
  const std::string once = print(vernier::parse_model(text));
  if (print(vernier::parse_model(once)) != once) __builtin_trap();
})
