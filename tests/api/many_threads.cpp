// Many sessions of one engine at the same time, each in a thread of its own, each run checked bit for bit:
//   api_many_threads THREADS RUNS
// Runs use one thread inside: sixteen of them keep all cores busy. Every eighth run is asynchronous, and
// every 16th comes with other sizes, of which there are more than an engine keeps plans for, so that plans
// are made, resized and forgotten while others run. Exit status 0: every bit was right.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "api/models.h"
#include "vernier/vernier.h"

using namespace vernier;

namespace {

constexpr int64_t kMaxBatch = 40;
constexpr int64_t kPixels = 64;

std::vector<float> images(int64_t batch) {
  std::vector<float> result(static_cast<size_t>(batch * kPixels));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i * 37 % 17) / 16;
  return result;
}

struct Shared {
  Engine engine;
  std::map<int64_t, std::vector<float>> expected;  // by batch size
  std::atomic<int64_t> wrong{0}, done{0};
};

std::vector<float> scores(const Outputs& outputs) {
  const TensorView view = outputs.at(0);
  const auto values = view.values<float>();
  return {values.begin(), values.end()};
}

void serve(Shared& shared, int index, int runs) {
  Session session(shared.engine, {.threads = 1});
  std::vector<float> input;
  int64_t batch = 0;
  for (int run = 0; run < runs; ++run) {
    if (run % 16 == 0) {
      batch = 1 + (index + run / 16) % kMaxBatch;
      input = images(batch);
      session.bind_input("image", input, {batch, 1, 8, 8});
    }
    const bool async = run % 8 == 7;
    const Outputs outputs = async ? session.run_async().wait() : session.run();
    if (scores(outputs) != shared.expected.at(batch)) ++shared.wrong;
    ++shared.done;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 16;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 200;
  if (threads < 1 || runs < 1) {
    std::fprintf(stderr, "usage: %s THREADS RUNS\n", argv[0]);
    return 2;
  }
  Shared shared{Engine::build(test::kDigits), {}};
  {
    const Engine alone = Engine::build(test::kDigits);
    for (int64_t batch = 1; batch <= kMaxBatch; ++batch) {
      Session session(alone, {.threads = 1});
      const auto input = images(batch);
      session.bind_input("image", input, {batch, 1, 8, 8});
      shared.expected[batch] = scores(session.run());
    }
  }
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([&shared, i, runs] { serve(shared, i, runs); });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d threads x %d runs in %.1f s: %lld of %lld runs were wrong\n", threads, runs, seconds,
              static_cast<long long>(shared.wrong), static_cast<long long>(shared.done));
  return shared.wrong == 0 && shared.done == int64_t{threads} * runs ? 0 : 1;
}
