// Precompiled for the operators and every room above them: the graph, and how operators are described.
#pragma once

#include "vernier/base/pch.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
