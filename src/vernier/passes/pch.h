// Precompiled for the passes and the rooms above them that prepare and report: the graph, and how passes
// rewrite it.
#pragma once

#include <filesystem>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/pch.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
