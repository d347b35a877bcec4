// oneDNN's parallel regions on the threads of the pool.
//
// oneDNN is built for OpenMP, whose run-time library has threads of its own: it ends and makes them whenever
// a team is smaller or larger than the one before, and a team waits for each of its threads, also for one
// that another process keeps from its core. So the calls that the library makes of that run-time library (six
// functions) are led here: the entries of its own table of imported functions are replaced. Nothing else in
// the process is changed; an application keeps its OpenMP.
#pragma once

#include <atomic>
#include <span>
#include <string>

namespace vernier::cpu {

// The table of functions that a shared library imports, and changing its entries.
struct Replacement {
  const char* function;  // the imported symbol
  void* by;
};

// Replaces imported functions of the shared library that holds the code at `inside`. All imports whose names
// begin with one of `prefixes` must be among the replacements, and each replacement among the imports. Empty
// if done; else why nothing was changed.
std::string replace_imports(const void* inside, std::span<const char* const> prefixes,
                            std::span<const Replacement> replacements);

// Leads the calls here, once for the process. Empty if they are; else why not: then primitives must be made
// and run with one thread (OneDnnTeam does it).
const std::string& take_openmp_calls();

// How the threads of a region behave.
enum class TeamKind : uint8_t {
  kChunks,     // they wait for nobody: any thread runs any of them, one after the other if it must be
  kTogether,   // they wait for one another while they run
  kLastFirst,  // as kChunks, in the calling thread, the last one first: shows in tests that they wait for
               // nobody
};

// While this lives, regions of oneDNN that the calling thread begins, and primitives that it makes, have so
// many threads.
class OneDnnTeam {
 public:
  explicit OneDnnTeam(int threads, TeamKind kind = TeamKind::kChunks);
  ~OneDnnTeam();
  OneDnnTeam(const OneDnnTeam&) = delete;
  OneDnnTeam& operator=(const OneDnnTeam&) = delete;

 private:
  int threads_before_, count_before_;
  TeamKind kind_before_;
};

// Says how a primitive's threads work, from the name of its implementation.
TeamKind team_kind(std::string_view implementation);

}  // namespace vernier::cpu
