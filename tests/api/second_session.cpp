// Measures what a second session of an engine costs in memory: api_second_session [MODEL.onnx] Weights belong
// to the engine, so it may be no more than its working memory and a little. Without a model it takes one that
// it makes. Inputs are zeros, unknown sizes 1. Exit status 0: it is so.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

#include "api/models.h"
#include "vernier/vernier.h"

using namespace vernier;

namespace {

// Stacks, heap growth to whole pages, output memory; far below the smallest arena that matters.
constexpr double kSmall = 2;
constexpr double kMiB = 1 << 20;

// Memory that the process was given and that no file holds, in MiB. Pages of files do not count, also where
// they are private: those of a library are the process's own as soon as no other process maps it any more.
double anonymous_mib() {
  std::ifstream file("/proc/self/smaps_rollup");
  double kib = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Anonymous:", 0) == 0 || line.rfind("Swap:", 0) == 0)
      kib += std::stod(line.substr(line.find(':') + 1));
  }
  return kib / 1024;
}

// 16 MiB of weights, far more than what is let pass.
test::ModelFile heavy_model() {
  std::string hex;
  for (int i = 0; i < 2048 * 2048; ++i) hex += i % 3 == 0 ? "0000003c" : "000000bc";
  return test::ModelFile(R"(graph "g" (%x: f32[256, 2048]) -> (%y) {
    const %w = f32[2048, 2048] hex")" +
                         hex + R"("
    %a: f32[*] = MatMul(%x, %w) version 24 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 24 @"b" from ["b"]
    %c: f32[*] = MatMul(%b, %w) version 24 @"c" from ["c"]
    %y: f32[*] = ReduceMax(%c) {keepdims = 1} version 24 @"y" from ["y"]
  })");
}

struct Inputs {
  std::vector<std::vector<std::byte>> memory;

  void bind(const Engine& engine, Session& session) {
    for (const TensorInfo& input : engine.inputs()) {
      std::vector<int64_t> dims;
      size_t count = 1;
      for (const Dimension& dimension : input.shape) {
        dims.push_back(dimension.size < 0 ? 1 : dimension.size);
        count *= static_cast<size_t>(dims.back());
      }
      constexpr size_t kWidest = 16;
      session.bind_input(input.name, input.type, dims, memory.emplace_back(count * kWidest).data());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // or the system rounds memory up to 2 MiB when it has the time
  const Engine engine = Engine::build(argc > 1 ? std::filesystem::path(argv[1]) : heavy_model().path());
  Inputs inputs;
  Session first(engine), second(engine);
  inputs.bind(engine, first);
  inputs.bind(engine, second);
  first.run();
  first.run();
  const pid_t neighbour = fork();  // maps all that this process does, and lets it go in between
  if (neighbour == 0) {
    for (;;) pause();
  }
  const double before = anonymous_mib();
  kill(neighbour, SIGKILL);
  waitpid(neighbour, nullptr, 0);
  second.run();
  const double after = anonymous_mib();
  const double arena = static_cast<double>(second.memory_bytes()) / kMiB;
  std::printf(
      "one session: %.1f MiB; the second adds %.1f MiB, of which it holds %.1f MiB as working memory\n",
      before, after - before, arena);
  if (arena > 0 && after - before <= arena + kSmall) return 0;
  std::printf("the second session costs more than its working memory and %.0f MiB\n", kSmall);
  return 1;
}
