#include "vernier/backends/cpu/attention/block_attention.h"

#include "vernier/backends/cpu/attention/attention_blocks.h"
#include "vernier/backends/cpu/attention/attention_kernel.h"
#include "vernier/backends/cpu/attention/bf16_weights.h"
#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"

namespace vernier::cpu {

namespace {

int64_t blocks_of(int64_t count) {
  return (count + kChunk - 1) / kChunk;
}

template <class Blocks>
class BlockProducts {
 public:
  static constexpr int64_t kRows = kBlockRows, kLeastWork = Blocks::kLeastWork;
  using Scope = typename Blocks::Scope;
  struct Space {
    uint16_t *keys, *values;   // weights of the head's: by 32 columns, chunk of the depth, term
    uint16_t *rows, *weights;  // of terms: what is packed or queried, and what values are multiplied with
    PieceRows queries;
  };

  BlockProducts(const AttentionPlan& plan, const TileFormat& format)
      : plan_(plan),
        rows_(plan),
        weights_(plan),
        bf16_weights_(plan),
        format_(format),
        computed_{format.terms, kChunk, sizeof(float)},
        key_blocks_(blocks_of(plan.keys())),
        depth_(blocks_of(plan.q.size)),
        value_blocks_(blocks_of(plan.v.size)),
        blocks_(format.terms, std::max({depth_, value_blocks_, kKeyBlock / kChunk})) {}

  int64_t value_columns() const { return value_blocks_ * kChunk; }
  int64_t bytes() const {
    return Taken::size_of<uint16_t>(key_elements()) + Taken::size_of<uint16_t>(value_elements()) +
           Taken::size_of<uint16_t>(row_elements()) + Taken::size_of<uint16_t>(weight_elements());
  }
  Space space(Taken& memory) const {
    return {memory.take<uint16_t>(key_elements()),
            memory.take<uint16_t>(value_elements()),
            memory.take<uint16_t>(row_elements()),
            memory.take<uint16_t>(weight_elements()),
            {}};
  }

  void pack(const KernelArguments& arguments, int64_t entry, int64_t head, Space& space) const {
    for (int64_t block = 0; block < key_blocks_; ++block) {
      const int64_t first = block * kChunk, count = std::min(kChunk, plan_.keys() - first);
      const PieceRows keys =
          rows_of(arguments, {&plan_.past_k, &plan_.k}, entry, head, first, count, space.rows);
      for (int64_t i = 0; i < depth_ * format_.terms; ++i)
        rows_to_columns(piece_of(keys, i), keys.stride, Blocks::kPlaces,
                        space.keys + (block * depth_ * format_.terms + i) * kTilePair);
      const PieceRows values =
          rows_of(arguments, {&plan_.past_v, &plan_.v}, entry, head, first, count, space.rows);
      for (int64_t i = 0; i < value_blocks_ * format_.terms; ++i) {
        const int64_t column = i / format_.terms, term = i % format_.terms;
        rows_to_depth(piece_of(values, i), values.stride, Blocks::kPlaces,
                      space.values + ((column * key_blocks_ + block) * format_.terms + term) * kTilePair);
      }
    }
  }

  void take_queries(const KernelArguments& arguments, const QueryBlock& block, Space& space) const {
    const HeadsPlace none;
    space.queries =
        rows_of(arguments, {&none, &plan_.q}, block.entry, block.head, block.first, block.rows, space.rows);
  }

  void make_scores(const Space& space, int64_t rows, int64_t key, int64_t keys, float* scores) const {
    const int64_t block = depth_ * format_.terms * kTilePair;
    blocks_.multiply({space.queries, rows, depth_, space.keys + key / kChunk * block, block, keys, scores,
                      kScoreStride, false});
  }

  void weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
             RunningWeights& running, float* shrinks, const Space& space) const {
    if (format_.terms == 1)
      return bf16_weights_.weigh(arguments, rows, scores, buffer, running, shrinks,
                                 {space.weights, kChunk, kTilePair});
    weights_.weigh(arguments, rows, scores, buffer, running, shrinks);
    split_pixels(
        {scores, rows.stride, rows.count, rows.keys, space.weights, kTilePair, kWeightPiece, computed_});
  }
  void store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query, float* sums,
             float weight) const {
    if (format_.terms == 1) return bf16_weights_.store(arguments, entry, head, query, sums, weight);
    weights_.store(arguments, entry, head, query, sums, weight);
  }

  void add_values(const Space& space, int64_t rows, int64_t key, int64_t keys, const float*, float* sums,
                  bool adds) const {
    const int64_t term = format_.terms * kTilePair;
    blocks_.multiply({{space.weights, kChunk, kTilePair, kWeightPiece},
                      rows,
                      blocks_of(keys),
                      space.values + key / kChunk * term,
                      key_blocks_ * term,
                      plan_.v.size,
                      sums,
                      value_columns(),
                      adds});
  }

 private:
  static constexpr int64_t kTilePair = 2 * kTileSize, kWeightPiece = kKeyBlock * kBlockRows;

  int64_t key_elements() const { return key_blocks_ * depth_ * format_.terms * kTilePair; }
  int64_t value_elements() const { return key_blocks_ * value_blocks_ * format_.terms * kTilePair; }
  int64_t row_elements() const { return std::max(depth_, value_blocks_) * format_.terms * kTilePair; }
  int64_t weight_elements() const { return kKeyBlock * kBlockRows * format_.terms; }

  // Term i % terms of chunk i / terms.
  const uint16_t* piece_of(const PieceRows& rows, int64_t i) const {
    return rows.first + i / format_.terms * rows.chunk + i % format_.terms * rows.term;
  }

  // Rows [first, first + count) of the parts one behind the other, up to 32 of them: where they lie, or in
  // `buffer`, filled up with zeros.
  PieceRows rows_of(const KernelArguments& arguments, const std::array<const HeadsPlace*, 2>& parts,
                    int64_t entry, int64_t head, int64_t first, int64_t count, uint16_t* buffer) const {
    const int64_t size = parts[1]->size, chunk = kTilePair, term = blocks_of(size) * chunk;
    const HeadsPlace& whole = first < parts[0]->rows ? *parts[0] : *parts[1];
    const int64_t row = &whole == parts[0] ? first : first - parts[0]->rows;
    if (count == kBlockRows && row + count <= whole.rows && whole.bias < 0 && size % kChunk == 0 &&
        format_.source == sizeof(uint16_t))
      return {static_cast<const uint16_t*>(arguments.inputs[whole.input]) + whole.at(entry, head) +
                  row * whole.row_stride,
              whole.row_stride, kChunk, 0};
    if (count < kBlockRows) std::fill_n(buffer, term * format_.terms, uint16_t{0});
    int64_t done = 0, behind = first;
    for (const HeadsPlace* part : parts) {
      const int64_t rows = std::clamp<int64_t>(part->rows - behind, 0, count - done);
      if (rows > 0) split(arguments, *part, entry, head, behind, rows, buffer + done * kChunk, term);
      done += rows;
      behind = std::max<int64_t>(0, behind - part->rows);
    }
    return {buffer, kChunk, chunk, term};
  }

  void split(const KernelArguments& arguments, const HeadsPlace& place, int64_t entry, int64_t head,
             int64_t first, int64_t count, uint16_t* to, int64_t term) const {
    if (place.bias < 0) {
      const auto* input = static_cast<const std::byte*>(arguments.inputs[place.input]);
      const int64_t at = place.at(entry, head) + first * place.row_stride;
      return split_pixels(
          {input + at * format_.source, place.row_stride, count, place.size, to, kTilePair, term, format_});
    }
    alignas(64) std::array<float, kMaxHeadSize> buffer;
    for (int64_t row = 0; row < count; ++row, to += kChunk) {
      const float* x = rows_.load(arguments, place, entry, head, first + row, buffer.data());
      split_pixels({x, 0, 1, place.size, to, kTilePair, term, computed_});
    }
  }

  AttentionPlan plan_;
  HeadRows rows_;
  ScoreWeights weights_;
  Bf16Weights bf16_weights_;
  TileFormat format_, computed_;  // of operands; of floats that are made of them
  int64_t key_blocks_, depth_, value_blocks_;
  Blocks blocks_;
};

// Addends of operands of bfloat16 would have to be rounded, which no plan asks for.
bool serves(const AttentionPlan& plan) {
  const bool adds = plan.q.bias >= 0 || plan.k.bias >= 0 || plan.v.bias >= 0;
  return plan.element == ElementType::kFloat || !adds;
}

template <class Blocks>
std::unique_ptr<Kernel> make_blocks(const AttentionPlan& plan, const TileFormat& format) {
  auto kernel =
      std::make_unique<AttentionKernel<BlockProducts<Blocks>>>(plan, BlockProducts<Blocks>(plan, format));
  kernel->contract = float_contract(plan.element);
  kernel->contract.approximate = true;
  split_operands(format, kernel->contract);
  // The weights of the values are rounded before they are multiplied.
  if (format.terms == 1) kernel->contract.probabilities = ElementType::kBFloat16;
  return kernel;
}

}  // namespace

std::vector<std::string> block_attention_tactics(const AttentionPlan& plan) {
  if (!serves(plan)) return {};
  auto tactics = tile_tactics(plan.element, plan.q.rows, {.columns = plan.keys(), .channels = plan.q.size});
  if (plan.element != ElementType::kBFloat16) return tactics;
  const bool offered = has_bf16_tiles() ? !tactics.empty() : has_vector_blocks();
  return offered ? std::vector<std::string>{kBFloat16Probabilities} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_block_attention(const AttentionPlan& plan, const KernelRequest& request,
                                             std::string& reason) {
  std::unique_ptr<Kernel> kernel;
  const bool rounds = request.tactic == kBFloat16Probabilities && plan.element == ElementType::kBFloat16;
  if (!serves(plan)) {
  } else if (rounds && has_bf16_tiles()) {
    kernel = make_blocks<TileBlocks>(plan, kBFloat16Tiles);
  } else if (rounds && has_vector_blocks()) {
    kernel = make_blocks<VectorBlocks>(plan, kBFloat16Tiles);
  } else if (plan.element != ElementType::kBFloat16) {
    if (const auto format = tile_format(request, plan.element))
      kernel = make_blocks<TileBlocks>(plan, *format);
  }
  if (kernel)
    kernel->name = fmt::format("cpu:attention:{}", request.tactic);
  else
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
  return kernel;
}

}  // namespace vernier::cpu
