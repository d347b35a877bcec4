// Precompiled for plans and every room above them: the graph, kernels, and the standard headers of files and
// threads.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>

#include "vernier/base/thread_pool.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/plan.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/pch.h"
