#include "vernier/compare/trace.h"
