// Precompiled for the command line: what every room sees, and CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include "vernier/ops/pch.h"
