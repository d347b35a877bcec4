#include "vernier/bench/roofline.h"

#include <cstring>
#include <random>

#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/bench/statistics.h"
#include "vernier/exec/scratch.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/work.h"

namespace vernier {

namespace {

// Rows stay in the first cache; weights come from the second, which is fast enough for tiles.
constexpr int64_t kSteps = 64, kRounds = 64, kRowSteps = 4, kPair = 2 * cpu::kTileSize;

// Draws bfloat16 from 1 to 2, of both signs, or any bytes.
void draw(uint16_t* to, int64_t count, bool narrow_floats) {
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint16_t>(random());
    to[i] = narrow_floats ? static_cast<uint16_t>((bits & 0x807F) | 0x3F80) : bits;
  }
}

}  // namespace

std::optional<double> tile_flops(ElementType type) {
  const bool bytes = type == ElementType::kUint8 || type == ElementType::kInt8;
  if (!cpu::has_bf16_tiles() || (!bytes && type != ElementType::kBFloat16)) return std::nullopt;
  const auto numbers = type == ElementType::kBFloat16 ? cpu::TileNumbers::kBFloat16
                       : type == ElementType::kUint8  ? cpu::TileNumbers::kUint8
                                                      : cpu::TileNumbers::kInt8;
  Scratch scratch;
  auto* rows = reinterpret_cast<uint16_t*>(scratch.at_least((kRowSteps + kSteps) * kPair * sizeof(uint16_t)));
  uint16_t* weights = rows + kRowSteps * kPair;
  draw(rows, (kRowSteps + kSteps) * kPair, !bytes);
  std::array<int64_t, kSteps> steps;
  for (int64_t i = 0; i < kSteps; ++i) steps[static_cast<size_t>(i)] = i % kRowSteps * kPair;
  const int64_t threads = thread_count();
  const double seconds = shortest([&] {
    cpu::parallel(threads, 1, [&](int64_t first, int64_t last) {
      const cpu::TileScope tiles;
      alignas(64) std::array<float, cpu::kBlockRows * cpu::kBlockColumns> sums;
      for (int64_t round = 0; round < (last - first) * kRounds; ++round)
        cpu::multiply_block({1, true, true, numbers},
                            {rows, cpu::kChunk * 2, steps.data(), kSteps, 0, weights, sums.data()});
    });
  });
  const double depth = bytes ? 64 : 32;
  return 2 * cpu::kBlockRows * cpu::kBlockColumns * depth * kSteps * kRounds * static_cast<double>(threads) /
         seconds;
}

namespace {

// Copies between an area that is read and one that is written, together of this size, as a step reads and
// writes.
double copy_bandwidth(size_t bytes) {
  Scratch from, to;
  const size_t half = bytes / 2;
  std::memset(from.at_least(half), 1, half);
  std::memset(to.at_least(half), 1, half);
  constexpr int64_t kGrain = 32 << 10;
  const double seconds = shortest([&] {
    cpu::parallel(static_cast<int64_t>(half), kGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(to.at_least(0) + begin, from.at_least(0) + begin, static_cast<size_t>(end - begin));
    });
  });
  return 2 * static_cast<double>(half) / seconds;
}

// A product of square matrices; of bytes, of unsigned ones by signed ones, as quantized models have them.
std::optional<double> product_flops(ElementType type) {
  constexpr int64_t kSize = 1024;
  const bool bytes = type == ElementType::kUint8 || type == ElementType::kInt8;
  if (!bytes && !is_float(type)) return std::nullopt;
  const ElementType other = bytes ? ElementType::kInt8 : type;
  const Tensor weights(other, {kSize, kSize});
  Graph graph;
  Value* a =
      graph.add_input("a", ValueType::of(bytes ? ElementType::kUint8 : type, to_shape(Dims{kSize, kSize})));
  auto made = std::make_unique<Node>();
  made->op = bytes ? "MatMulInteger" : "MatMul";
  made->version = bytes ? 10 : 13;
  made->inputs = {a, graph.add_constant("b", weights)};
  made->outputs = {graph.add_value("y")};
  const Node* node = graph.add_node(std::move(made));
  ops::infer_types(graph);
  const ElementType result = node->output(0)->type.tensor.element;
  const Tensor input(a->type.tensor.element, {kSize, kSize});
  Tensor output(result, {kSize, kSize});
  const KernelRequest request{*node,
                              {Operand{input.type(), input.dims(), Layout::kPlain, nullptr},
                               Operand{other, weights.dims(), Layout::kPlain, &weights}},
                              {Operand{result, output.dims(), Layout::kPlain, nullptr}}};
  std::string reason;
  const auto kernel = cpu::CpuBackend().make(request, reason);
  if (!kernel) return std::nullopt;
  Scratch scratch;
  const void* inputs[] = {input.raw(), weights.raw()};
  void* outputs[] = {output.mutable_raw()};
  std::byte* memory = scratch.at_least(kernel->scratch_bytes);
  const double seconds = shortest([&] { kernel->run({inputs, outputs, memory}); });
  return 2.0 * kSize * kSize * kSize / seconds;
}

// The type of the first operand that is no single number: what contractions multiply.
ElementType operand_type(const Node& node) {
  for (const Value* input : node.inputs) {
    if (input == nullptr || !input->type.is_tensor() || !input->type.tensor.shape) continue;
    const auto dims = to_dims(*input->type.tensor.shape);
    if (dims && element_count(*dims) > 1) return input->type.tensor.element;
  }
  return ElementType::kFloat;
}

}  // namespace

std::optional<StepWork> work_of(const Plan& plan, const Step& step) {
  StepWork work;
  if (step.node == nullptr) {  // a change of layout
    for (const auto* slots : {&step.inputs, &step.outputs}) {
      for (const SlotId id : *slots)
        work.bytes += static_cast<double>(plan.slots[static_cast<size_t>(id)].bytes());
    }
    return work;
  }
  const auto flops = ops::flops_of(*step.node), bytes = ops::bytes_of(*step.node);
  if (!flops || !bytes || (!step.node->regions.empty() && !ops::is_group(*step.node))) return std::nullopt;
  work.flops = *flops;
  work.bytes = *bytes;
  work.type = operand_type(*step.node);
  for (const auto& [tactic, products] : {std::pair(cpu::kTwoTerms, 3), std::pair(cpu::kThreeTerms, 6)}) {
    if (!step.kernel || step.kernel->name.find(tactic) == std::string::npos) continue;
    work.type = ElementType::kBFloat16;
    work.products = products;
  }
  return work;
}

double MachinePeak::bandwidth(double bytes) const {
  for (const auto& [area, speed] : bandwidths) {
    if (bytes <= area) return speed;
  }
  return bandwidths.back().second;
}

MachinePeak measure_peak(const std::set<ElementType>& types) {
  MachinePeak peak;
  for (const ElementType type : types) {
    const auto of_product = product_flops(type), of_tiles = tile_flops(type);
    if (of_product || of_tiles) peak.flops[type] = std::max(of_product.value_or(0), of_tiles.value_or(0));
  }
  for (const size_t kib : {128, 512, 2048, 8192, 65536})
    peak.bandwidths.emplace_back(static_cast<double>(kib) * 1024, copy_bandwidth(kib * 1024));
  return peak;
}

Roofline roofline(const StepWork& work, const MachinePeak& peak) {
  const auto flops = peak.flops.find(work.type);
  const double computing = flops == peak.flops.end() ? 0 : work.flops * work.products / flops->second;
  const double moving = work.bytes / peak.bandwidth(work.bytes);
  return {std::max(computing, moving) * 1e3, moving > computing};
}

}  // namespace vernier
