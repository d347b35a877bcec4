#include "vernier/base/affinity.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "vernier/base/error.h"
#include "vernier/base/thread_pool.h"

namespace vernier {

namespace {

Error no_list(const std::string& list) {
  return usage_error("'{}' is no list of cores", list).advise("write numbers and ranges: 0-3,8");
}

int number(const std::string& text, const std::string& list) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= CPU_SETSIZE)
    throw no_list(list);
  return value;
}

bool may_use(int core) {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
         CPU_ISSET(static_cast<size_t>(core), &allowed);
}

// As the system writes it; empty for a node of memory alone.
std::string core_list(int node) {
  std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
  if (!file) throw unsupported("this machine has no NUMA node {}", node);
  std::string list;
  std::getline(file, list);
  return list;
}

}  // namespace

std::vector<int> parse_cores(const std::string& list) {
  std::set<int> cores;
  std::istringstream parts(list + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const int first = number(part.substr(0, dash), list);
    const int last = dash == std::string::npos ? first : number(part.substr(dash + 1), list);
    if (last < first) throw no_list(list);
    for (int core = first; core <= last; ++core) cores.insert(core);
  }
  return {cores.begin(), cores.end()};
}

std::vector<int> cores_of_node(int node) {
  std::vector<int> cores;
  if (const std::string list = core_list(node); !list.empty()) cores = parse_cores(list);
  std::erase_if(cores, [](int core) { return !may_use(core); });
  if (cores.empty()) throw unsupported("this process may use no core of NUMA node {}", node);
  return cores;
}

void run_on_cores(const std::vector<int>& cores) {
  if (cores.empty()) throw usage_error("no cores are given");
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE || !may_use(core))
      throw unsupported("this process may not use core {}", core);
    CPU_SET(static_cast<size_t>(core), &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0)
    throw unsupported("cores cannot be chosen here: {}", std::strerror(errno));
  ThreadPool::instance().bind(cores);
}

void prefer_memory_of_node(int node) {
  constexpr int kPreferred = 1;  // MPOL_PREFERRED; libnuma, which names it, is not needed for more
  constexpr int kMostNodes = 1024;
  unsigned long nodes[kMostNodes / (8 * sizeof(unsigned long))] = {};
  core_list(node);  // throws if there is no such node
  const auto bits = 8 * sizeof(unsigned long), bit = static_cast<size_t>(node) % kMostNodes;
  nodes[bit / bits] = 1UL << bit % bits;
  if (::syscall(SYS_set_mempolicy, kPreferred, nodes, kMostNodes) != 0)
    throw unsupported("memory of NUMA node {} cannot be preferred here: {}", node, std::strerror(errno));
}

}  // namespace vernier
