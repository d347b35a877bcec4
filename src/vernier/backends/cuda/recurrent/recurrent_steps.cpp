#include "vernier/backends/cuda/recurrent/recurrent_steps.h"

#include <bit>

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"

namespace vernier::cuda {

namespace {

using P = RecurrentParameters;
using namespace recurrent;

// Numbers the phases of kernels/recurrent.cu.
enum Phase : int { kBegin = 1, kReset = 2, kAdvance = 4 };

constexpr int64_t kStateRows = 3;  // of a sequence: RecurrentParameters::states

// Says how blocks and threads share the work.
struct Partition {
  bool loops = false;
  int64_t rows = 1;   // sequences of a block
  int64_t lanes = 8;  // that share a unit
  int64_t parts = 1;  // blocks that share the units
  Grid grid = {};
};

int64_t state_bytes(const RecurrentLayer& layer, int64_t rows) {
  return kStateRows * rows * layer.hidden * static_cast<int64_t>(element_size(state_type(layer.element)));
}

// As few sequences share a block as keep all of a large GPU busy, and have room for their states.
Partition looped(const RecurrentLayer& layer) {
  constexpr int64_t kEnoughBlocks = 128, kMostThreads = 512, kWarp = 32;
  Partition partition{.loops = true};
  while (partition.rows < partition.lanes &&
         layer.directions() * tiles_of(layer.batch, partition.rows) > kEnoughBlocks)
    partition.rows *= 2;
  while (partition.rows > 1 && state_bytes(layer, partition.rows) > kSharedMemory) partition.rows /= 2;
  const int64_t threads = std::min(kMostThreads, tiles_of(layer.hidden * partition.lanes, kWarp) * kWarp);
  partition.grid = {static_cast<unsigned>(layer.directions() * tiles_of(layer.batch, partition.rows)), 1, 1,
                    static_cast<unsigned>(threads),
                    static_cast<unsigned>(state_bytes(layer, partition.rows))};
  return partition;
}

// A warp takes a unit, and multiplies it with as many sequences as registers have room for.
Partition stepped(const RecurrentLayer& layer) {
  constexpr int64_t kMostRows = 8, kWarps = 4, kWarp = 32;
  Partition partition{.lanes = kWarp};
  partition.rows =
      std::min(kMostRows, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(layer.batch))));
  partition.parts = tiles_of(layer.hidden, kWarps);
  partition.grid = grid_of_blocks(
      layer.directions() * tiles_of(layer.batch, partition.rows) * partition.parts, kWarps * kWarp);
  return partition;
}

P parameters_of(const RecurrentLayer& layer, const Partition& partition) {
  P p{};
  p.steps = static_cast<int>(layer.steps);
  p.batch = static_cast<int>(layer.batch);
  p.hidden = static_cast<int>(layer.hidden);
  p.directions = static_cast<int>(layer.directions());
  p.batch_first = layer.batch_first ? 1 : 0;
  p.parts = static_cast<int>(partition.parts);
  for (size_t d = 0; d < layer.backward.size(); ++d) {
    p.backward[d] = layer.backward[d] ? 1 : 0;
    for (size_t k = 0; k < layer.activations[d].size(); ++k) {
      p.alpha[d][k] = layer.activations[d][k].alpha();
      p.beta[d][k] = layer.activations[d][k].beta();
      p.clip = layer.activations[d][k].clip();
    }
  }
  return p;
}

// Calls the function of each direction, whose name in the program is ONNX's.
std::string activation_of(const RecurrentLayer& layer, size_t which) {
  if (which >= layer.activations[0].size()) return "x";
  const auto call = [&](size_t direction) {
    return fmt::format("activation_{}(x, alpha, beta)", layer.activations[direction][which].name());
  };
  const std::string forwards = call(0), backwards = call(layer.activations.size() - 1);
  return forwards == backwards ? forwards : fmt::format("(direction == 0 ? {} : {})", forwards, backwards);
}

Definitions definitions_of(const RecurrentLayer& layer, const Partition& partition) {
  constexpr const char* kCells[] = {"RNN", "GRU", "LSTM"};
  const int64_t pack = 16 / static_cast<int64_t>(element_size(layer.element));
  return {{"CELL", kCells[static_cast<size_t>(layer.kind)]},
          {"T", std::string(device_type(layer.element))},
          {"ACC", std::string(device_type(state_type(layer.element)))},
          {"ROWS", std::to_string(partition.rows)},
          {"LANES", std::to_string(partition.lanes)},
          {"PACK", std::to_string(layer.hidden % pack == 0 ? pack : 1)},
          {"LOOPS", partition.loops ? "1" : "0"},
          {"LATE", layer.linear_before_reset ? "1" : "0"},
          {"COUPLED", layer.input_forget ? "1" : "0"},
          {"ACTIVATION_0", activation_of(layer, 0)},
          {"ACTIVATION_1", activation_of(layer, 1)},
          {"ACTIVATION_2", activation_of(layer, 2)}};
}

class Steps {
 public:
  Steps(CudaKernel& kernel, const KernelRequest& request, const RecurrentLayer& layer,
        const Partition& partition)
      : kernel_(kernel), request_(request), layer_(layer), partition_(partition) {
    if (!partition_.loops)
      states_ = kernel.more_scratch(
          static_cast<size_t>(layer.directions() * tiles_of(layer.batch, partition_.rows)) *
          static_cast<size_t>(state_bytes(layer, partition_.rows)));
  }

  void add(const CudaKernel::Place& projected) {
    const int steps =
        layer_.kind == CellKind::kGru && !layer_.linear_before_reset ? kReset | kAdvance : kAdvance;
    if (partition_.loops) {
      launch(projected, kBegin | steps);
      return;
    }
    launch(projected, kBegin);
    // All blocks read a state that is reset, so resetting it takes a launch of its own.
    if ((steps & kReset) != 0) launch(projected, kReset);
    launch(projected, kAdvance);
    kernel_.repeat((steps & kReset) != 0 ? 2 : 1, layer_.steps, offsetof(P, step));
  }

 private:
  void read(size_t input, size_t member) {
    if (request_.has(input)) kernel_.add_pointer(member, CudaKernel::input(input));
  }

  void launch(const CudaKernel::Place& projected, int phases) {
    Definitions definitions = definitions_of(layer_, partition_);
    definitions.emplace_back("PHASES", std::to_string(phases));
    kernel_.launch(kernel_source("recurrent", definitions, {"joined", "functions"}), partition_.grid,
                   parameters_of(layer_, partition_),
                   {{&P::projected, projected}, {&P::r, CudaKernel::input(kR)}}, {});
    if (!partition_.loops) kernel_.add_pointer(offsetof(P, states), states_);
    read(kBias, offsetof(P, bias));
    read(kLengths, offsetof(P, lengths));
    read(kInitialHidden, offsetof(P, initial_hidden));
    read(kInitialCell, offsetof(P, initial_cell));
    read(kPeepholes, offsetof(P, peepholes));
    constexpr size_t kOutputs[] = {offsetof(P, y), offsetof(P, y_hidden), offsetof(P, y_cell)};
    for (size_t i = 0; i < std::size(kOutputs); ++i) {
      if (request_.wants(i)) kernel_.add_pointer(kOutputs[i], CudaKernel::output(i));
    }
    if (request_.has(kLengths) && (phases & kBegin) != 0)
      kernel_.report_faults(offsetof(P, faults), offsetof(P, fault),
                            "the length of a sequence is negative, or more than there are steps");
  }

  CudaKernel& kernel_;
  const KernelRequest& request_;
  const RecurrentLayer& layer_;
  const Partition partition_;
  CudaKernel::Place states_;
};

}  // namespace

ElementType state_type(ElementType element) {
  return element == ElementType::kDouble ? element : ElementType::kFloat;
}

void add_steps(CudaKernel& kernel, const KernelRequest& request, const RecurrentLayer& layer,
               const CudaKernel::Place& projected, int64_t most_looped) {
  const int64_t bytes = layer.width() * layer.hidden * static_cast<int64_t>(element_size(layer.element));
  const bool loops = bytes <= most_looped && state_bytes(layer, 1) <= kSharedMemory;
  Steps(kernel, request, layer, loops ? looped(layer) : stepped(layer)).add(projected);
  kernel.contract = blocked_contract(state_type(layer.element), layer.element);
  kernel.contract.approximate = true;
}

}  // namespace vernier::cuda
