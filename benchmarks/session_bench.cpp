// How long a run takes over the C interface, beside which session.py puts a run in Python: session_bench
// ENGINE INPUT DIMS RUNS
//
// Each run binds an input of f32, runs, and looks at the outputs, as a run in Python does. One thread, median
// in microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "vernier/vernier_c.h"

namespace {

void require(vernier_status status) {
  if (status == VERNIER_OK) return;
  std::fprintf(stderr, "session_bench: %s\n", vernier_last_error());
  std::exit(1);
}

std::vector<int64_t> parse_dims(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, 'x');) dims.push_back(std::stoll(word));
  return dims;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::vector<int64_t> dims = parse_dims(argv[3]);
  size_t elements = 1;
  for (const int64_t size : dims) elements *= static_cast<size_t>(size);
  const std::vector<float> input(elements, 0.5F);

  vernier_engine* engine = nullptr;
  vernier_session* session = nullptr;
  require(vernier_engine_load(argv[1], &engine));
  require(vernier_session_create(engine, 1, &session));
  std::vector<const char*> outputs(vernier_engine_output_count(engine));
  for (size_t i = 0; i < outputs.size(); ++i) {
    vernier_tensor_info info;
    require(vernier_engine_output(engine, i, &info));
    outputs[i] = info.name;
  }
  std::vector<double> times;
  const int runs = std::atoi(argv[4]);
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    require(
        vernier_session_bind_input(session, argv[2], VERNIER_FLOAT, dims.data(), dims.size(), input.data()));
    require(vernier_session_run(session));
    for (const char* name : outputs) {
      vernier_tensor tensor;
      require(vernier_session_output(session, name, &tensor));
    }
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  std::printf("%.3f\n", times[static_cast<size_t>(runs) / 2]);
  vernier_session_release(session);
  vernier_engine_release(engine);
}
