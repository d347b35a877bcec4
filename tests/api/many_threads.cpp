// Many sessions of two engines at the same time, each in a thread of its own, each run checked bit for bit:
//   api_many_threads THREADS RUNS [DEVICE [DIGITS.ONNX]]
// Every second thread runs digits.onnx, the others a model with a loop, a branch and sizes that only running
// tells. Runs use one thread inside: sixteen of them keep all cores busy. Every eighth run is asynchronous,
// and every 16th comes with other sizes, of which there are more than an engine keeps plans for, so that
// plans are made, resized and forgotten while others run. Exit status 0: every bit was right.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include "api/models.h"
#include "vernier/vernier.h"

using namespace vernier;

namespace {

constexpr int64_t kSizes = 40;
constexpr int64_t kPixels = 64;

// A session reads its inputs from here.
struct Inputs {
  std::vector<float> values, more;
  int64_t trips = 0;
};

// Whole multiples of 1/16 below one, of both signs.
std::vector<float> ramp(int64_t size, int64_t start) {
  std::vector<float> result(static_cast<size_t>(size));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>((static_cast<int64_t>(i) + start) * 37 % 31 - 15) / 16;
  return result;
}

void bind_images(Session& session, Inputs& inputs, int64_t size) {
  inputs.values = ramp(size * kPixels, 0);
  session.bind_input("image", inputs.values, {size, 1, 8, 8});
}

void bind_rows(Session& session, Inputs& inputs, int64_t size) {
  inputs.values = ramp(4, size);
  inputs.more = ramp(size * 4, 0);
  inputs.trips = size % 5;
  session.bind_input("x", inputs.values, {1, 4});
  session.bind_input("trips", ElementType::kInt64, {}, &inputs.trips);
  session.bind_input("keys", inputs.more, {size, 4});
}

// All outputs, bit for bit.
std::vector<std::byte> bits(const Outputs& outputs) {
  std::vector<std::byte> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView view = outputs.at(i);
    const size_t width = view.type() == ElementType::kInt64 ? sizeof(int64_t) : sizeof(float);
    const auto* data = static_cast<const std::byte*>(view.data());
    result.insert(result.end(), data, data + view.size() * width);
  }
  return result;
}

struct Shared {
  using Bind = std::function<void(Session&, Inputs&, int64_t size)>;

  Shared(const std::filesystem::path& model, Bind how, const BuildOptions& options)
      : engine(Engine::build(model, options)), bind(std::move(how)) {
    const Engine alone = Engine::build(model, options);
    for (int64_t size = 1; size <= kSizes; ++size) {
      Session session(alone, {.threads = 1});
      Inputs inputs;
      bind(session, inputs, size);
      expected[size] = bits(session.run());
    }
  }

  Engine engine;
  Bind bind;
  std::map<int64_t, std::vector<std::byte>> expected;  // by size
  std::atomic<int64_t> wrong{0}, done{0};
};

void serve(Shared& shared, int index, int runs) {
  Session session(shared.engine, {.threads = 1});
  Inputs inputs;
  int64_t size = 0;
  for (int run = 0; run < runs; ++run) {
    if (run % 16 == 0) {
      size = 1 + (index + run / 16) % kSizes;
      shared.bind(session, inputs, size);
    }
    const bool async = run % 8 == 7;
    const Outputs outputs = async ? session.run_async().wait() : session.run();
    if (bits(outputs) != shared.expected.at(size)) ++shared.wrong;
    ++shared.done;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 16;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 200;
  if (threads < 1 || runs < 1) {
    std::fprintf(stderr, "usage: %s THREADS RUNS [DEVICE [DIGITS.ONNX]]\n", argv[0]);
    return 2;
  }
  const test::ModelFile reading = test::reading_model();
  BuildOptions options;
  if (argc > 3) {
    options.devices = {argv[3]};
    options.optimization_level = 0;  // what is timed on a device may come out either way
  }
  Shared images(argc > 4 ? argv[4] : test::kDigits, bind_images, options),
      rows(reading.path(), bind_rows, options);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, i] { serve(i % 2 == 0 ? images : rows, i / 2, runs); });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const int64_t wrong = images.wrong + rows.wrong, done = images.done + rows.done;
  std::printf("%d threads x %d runs in %.1f s: %lld of %lld runs were wrong\n", threads, runs, seconds,
              static_cast<long long>(wrong), static_cast<long long>(done));
  return wrong == 0 && done == int64_t{threads} * runs ? 0 : 1;
}
