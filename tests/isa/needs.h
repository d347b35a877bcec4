// A test says what it needs of the processor. One that does not run says which instruction it lacks, so that
// tests/isa/levels.py can count what a level leaves out.
#pragma once

#include <gtest/gtest.h>

#include "vernier/backends/cpu/processor.h"

#define VERNIER_NEEDS(feature)                                \
  if (!::vernier::cpu::has(::vernier::cpu::Feature::feature)) \
  GTEST_SKIP() << "needs " << ::vernier::cpu::feature_name(::vernier::cpu::Feature::feature)
