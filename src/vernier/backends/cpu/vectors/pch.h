// Precompiled for what is written in vector instructions, with the optimisation that it needs. Not the
// instructions: g++ warns of its own headers where they are precompiled.
#pragma once

#include <cstring>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/base/pch.h"
