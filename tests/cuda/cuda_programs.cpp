// Compiles the programs of all nodes of models, without a GPU: cuda_programs FOLDER [--cuda-path=FOLDER]
//
// FOLDER holds <category>/<case>/model.onnx, as that of the conformance tests. Each program that a node of
// known sizes would run is compiled for each architecture by NVRTC; the last line tells how many there are.
// Exit 1: one does not compile. Exit 77: NVRTC is not here.
#include <fstream>
#include <iostream>

#include "cuda/graph_requests.h"
#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/backends/cuda/libraries/libraries.h"
#include "vernier/backends/cuda/programs/compiler.h"
#include "vernier/base/threads.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/infer_graph.h"

namespace fs = std::filesystem;
using namespace vernier;
using namespace vernier::cuda;

namespace {

constexpr int kSkipped = 77;
constexpr const char* kArchitectures[] = {"sm_80", "sm_90a"};

struct Found {
  std::map<std::string, ProgramSource> programs;  // by text
  std::map<std::string, size_t> refused;          // nodes, by operator and reason
  size_t nodes = 0, served = 0;
};

// Lays out images channels last, where a kernel takes them so.
bool lie_last(KernelRequest& request) {
  for (auto& input : request.inputs) {
    if (input && input->rank() >= 3) input->layout = Layout::kChannelsLast;
  }
  const LayOut lay_out = KernelRegistry::instance().lay_out(request.node);
  if (!request.has(0) || !request.wants(0)) return false;
  if (lay_out == lay_out_plain) return lay_out_convolution(request);
  lay_out(request);
  return true;
}

void add_programs(const fs::path& path, Found& found) {
  const auto imported = import_model(path);
  Graph& graph = *imported.model.graph;
  ops::infer_types(graph);
  for (const auto& node : graph.nodes()) {
    auto request = known_request(*node);
    if (!request) continue;
    ++found.nodes;
    std::string reason;
    const auto kernel = make_cuda_kernel(*request, reason);
    if (!kernel) {
      ++found.refused[node->qualified_op() + ": " + reason];
      continue;
    }
    ++found.served;
    for (const ProgramSource& source : kernel->sources()) found.programs.emplace(source.text(), source);
    if (lie_last(*request)) {
      if (const auto other = make_cuda_kernel(*request, reason))
        for (const ProgramSource& source : other->sources()) found.programs.emplace(source.text(), source);
    }
  }
}

// Gives what the compiler says of the programs that it does not take.
std::vector<std::string> compile_all(const Found& found, const NvrtcApi& api) {
  std::vector<const ProgramSource*> sources;
  for (const auto& [text, source] : found.programs) sources.push_back(&source);
  std::mutex mutex;
  std::vector<std::string> wrong;
  for (const char* architecture : kArchitectures) {
    const Compiler compiler(api, architecture);
    parallel_for(static_cast<int64_t>(sources.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const ProgramSource& source = *sources[static_cast<size_t>(i)];
        try {
          const std::string code = compiler.compile(source.text(), source.name);
          if (!code.starts_with("\x7f"
                                "ELF"))
            throw internal_error("'{}' gives no machine code", source.name);
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex);
          wrong.push_back(fmt::format("{}\n{}", error.what(), source.body));
        }
      }
    });
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  SearchOptions search;
  fs::path folder;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], option = "--cuda-path=";
    if (word.starts_with(option))
      search.cuda_path = word.substr(option.size());
    else
      folder = word;
  }
  if (folder.empty()) {
    std::cerr << "usage: cuda_programs FOLDER [--cuda-path=FOLDER]\n";
    return 2;
  }
  NvrtcApi api;
  const FoundLibrary library = open_library(search, api);
  Found found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "model.onnx") continue;
    try {
      add_programs(entry.path(), found);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;  // others are models that nobody can run
    }
  }
  for (const auto& [what, count] : found.refused) fmt::print("left to the CPU: {} x {}\n", count, what);
  if (!library.missing.empty()) {
    fmt::print("SKIPPED: {}\n", library.missing);
    return kSkipped;
  }
  const auto wrong = compile_all(found, api);
  for (const std::string& text : wrong) fmt::print("{}\n", text);
  fmt::print("cuda_programs: NVRTC {}, {} of {} nodes have kernels, {} programs, {} do not compile for {}\n",
             library.version, found.served, found.nodes, found.programs.size(), wrong.size(),
             fmt::join(kArchitectures, " and "));
  return wrong.empty() && !found.programs.empty() ? 0 : 1;
}
