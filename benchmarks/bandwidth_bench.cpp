// How fast threads read memory: bandwidth_bench [THREADS [MIB]]
//
// Prints bytes a second, the median and the largest of some passes over areas that no cache holds. Weights of
// a model that yields one token at a time are read once for each, so this is the limit of such models.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using Words = std::vector<uint64_t>;

// Eight independent sums, for additions not to wait for each other.
uint64_t read_all(const Words& words) {
  constexpr size_t kSums = 8;
  uint64_t sums[kSums] = {};
  for (size_t i = 0; i + kSums <= words.size(); i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += words[i + j];
  }
  return std::accumulate(sums, sums + kSums, uint64_t{0});
}

// Bytes a second of all threads, each over an area of its own.
double pass(const std::vector<Words>& areas, uint64_t& kept) {
  std::vector<uint64_t> sums(areas.size());
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < areas.size(); ++i) threads.emplace_back([&, i] { sums[i] = read_all(areas[i]); });
  threads.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const uint64_t sum : sums) kept += sum;
  return static_cast<double>(areas.size() * areas[0].size() * sizeof(uint64_t)) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : std::thread::hardware_concurrency();
  const size_t mebibytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024;
  if (threads == 0 || mebibytes < threads) {
    std::fprintf(stderr, "bandwidth_bench [THREADS [MIB]]: at least one thread, and a MiB for each\n");
    return 2;
  }
  const std::vector<Words> areas(threads, Words((mebibytes << 20) / threads / sizeof(uint64_t), 1));
  constexpr int kPasses = 15;
  std::vector<double> speeds;
  uint64_t kept = 0;  // so that no read is left out
  for (int i = 0; i < kPasses; ++i) speeds.push_back(pass(areas, kept));
  std::sort(speeds.begin(), speeds.end());
  std::printf("{\"median\": %.4g, \"largest\": %.4g, \"sum\": %llu}\n", speeds[kPasses / 2], speeds.back(),
              static_cast<unsigned long long>(kept));
}
