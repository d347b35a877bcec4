#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace vernier {

// The indices 0 .. after.size()-1 such that every member of after[i] comes before i; of several orders the
// one that keeps the given order longest. Indices on or behind a cycle are missing from the result.
std::vector<size_t> topological_order(const std::vector<std::set<size_t>>& after);

}  // namespace vernier
