#include "vernier/backends/cuda/attention/attention_launches.h"

#include <bit>

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"

namespace vernier::cuda {

namespace {

using P = AttentionParameters;

P parameters_of(const AttentionPlan& plan, const AttentionPlaces& places, int64_t past) {
  const HeadsPlace &q = plan.q, &k = plan.k, &v = plan.v, &y = plan.out;
  P p{};
  p.batch = static_cast<int>(q.batch);
  p.heads = static_cast<int>(q.heads);
  p.kv_heads = static_cast<int>(k.heads);
  p.queries = static_cast<int>(q.rows);
  p.keys = static_cast<int>(k.rows);
  p.head_size = static_cast<int>(q.size);
  p.value_size = static_cast<int>(v.size);
  p.causal = plan.causal ? 1 : 0;
  p.left = static_cast<int>(plan.left);
  p.right = static_cast<int>(plan.right);
  p.past = static_cast<int>(past);
  p.longest = static_cast<int>(places.longest);
  p.without = static_cast<int>(plan.without);
  p.splits = 1;
  p.q_batch = q.batch_stride, p.q_head = q.head_stride, p.q_row = q.row_stride;
  p.k_batch = k.batch_stride, p.k_head = k.head_stride, p.k_row = k.row_stride;
  p.v_batch = v.batch_stride, p.v_head = v.head_stride, p.v_row = v.row_stride;
  p.y_batch = y.batch_stride, p.y_head = y.head_stride, p.y_row = y.row_stride;
  p.mask_keys = static_cast<int>(plan.mask.keys);
  p.mask_batch = plan.mask.strides[0];
  p.mask_head = plan.mask.strides[1];
  p.mask_row = plan.mask.strides[2];
  p.mask_column = plan.mask.strides[3];
  p.scale = static_cast<double>(plan.scale);
  p.cap = static_cast<double>(plan.softcap);
  p.filter = static_cast<double>(plan.padding.filter);
  return p;
}

Definitions definitions_of(const AttentionPlan& plan, const AttentionPlaces& places) {
  const bool masked = places.mask.has_value();
  return {{"T", std::string(device_type(plan.element))},
          {"MASK", std::string(device_type(masked ? plan.mask.element : ElementType::kFloat))},
          {"MASKED", !masked                                   ? "0"
                     : plan.mask.element == ElementType::kBool ? "2"
                                                               : "1"},
          {"CAP", plan.softcap != 0 ? "1" : "0"},
          {"COUNTED", std::to_string(static_cast<int>(places.form))},
          {"PADDING", places.padding ? std::to_string(static_cast<int>(plan.padding.form) + 1) : "0"},
          {"SINK", places.sinks            ? "2"
                   : places.has_zero_sinks ? "1"
                                           : "0"}};
}

struct Program {
  ProgramSource source;
  Grid grid;
};

Program program_of(const std::string& name, const Definitions& definitions, const Grid& grid,
                   const std::vector<std::string>& before = {"attention_scores"}) {
  return {kernel_source(name, definitions, before), grid};
}

// On matrix units: of chunks of 32 elements of queries, and of blocks of 64 columns of values.
struct MatrixSizes {
  static constexpr int64_t kQueryChunk = 32, kValueBlock = 64, kRows = 16;

  int64_t query_chunks, value_blocks, heads;

  explicit MatrixSizes(const P& p)
      : query_chunks(tiles_of(p.head_size, kQueryChunk)),
        value_blocks(tiles_of(p.value_size, kValueBlock)),
        heads(int64_t{p.batch} * p.heads) {}

  Program program(const std::string& name, Definitions definitions, const Grid& grid) const {
    definitions.insert(definitions.end(), {{"Q_CHUNKS", std::to_string(query_chunks)},
                                           {"V_BLOCKS", std::to_string(value_blocks)}});
    return program_of(name, definitions, grid, {"attention_scores", "attention_tiles"});
  }
};

// Whether all that threads read of queries, keys and values, and write, lies in packs of so many elements.
bool lies_in_packs(const P& p, const AttentionPlaces& places, ElementType type, int64_t size) {
  const auto in_packs = [size](auto... each) { return ((each % size == 0) && ...); };
  const auto bytes = static_cast<size_t>(size) * element_size(type);
  return places.q.offset % bytes == 0 && places.k.offset % bytes == 0 && places.v.offset % bytes == 0 &&
         in_packs(p.head_size, p.value_size) &&
         in_packs(p.q_batch, p.q_head, p.q_row, p.k_batch, p.k_head, p.k_row) &&
         in_packs(p.v_batch, p.v_head, p.v_row, p.y_batch, p.y_head, p.y_row);
}

bool suits_matrix_units(const P& p, const AttentionPlaces& places, ElementType type) {
  constexpr int64_t kPack = 8, kLargestHead = 128;
  return (type == ElementType::kFloat16 || type == ElementType::kBFloat16) && p.head_size <= kLargestHead &&
         p.value_size <= kLargestHead && lies_in_packs(p, places, type, kPack);
}

// Blocks take 64 queries, and their warps the same keys at a time. Nothing where these are too few blocks for
// a large GPU.
std::optional<Program> tiled_program(const P& p, Definitions definitions) {
  constexpr int64_t kWarps = 4, kEnoughBlocks = 128, kStages = 2, kManyColumns = 128;
  const MatrixSizes sizes(p);
  const int64_t blocks = sizes.heads * tiles_of(p.queries, kWarps * MatrixSizes::kRows);
  if (blocks < kEnoughBlocks) return std::nullopt;
  const int64_t columns =
      sizes.query_chunks * MatrixSizes::kQueryChunk + sizes.value_blocks * MatrixSizes::kValueBlock;
  const int64_t keys = columns > kManyColumns ? 32 : 64;  // which every program has shared memory for
  definitions.insert(definitions.end(), {{"KEYS", std::to_string(keys)}, {"WARPS", std::to_string(kWarps)}});
  Grid grid = grid_of_blocks(blocks, 1);
  grid.threads = kWarps * 32;
  grid.shared = static_cast<unsigned>(kStages * keys * columns * static_cast<int64_t>(sizeof(uint16_t)));
  return sizes.program("tiled_attention", std::move(definitions), grid);
}

// Blocks take 16 queries, and their warps share the keys.
Program matrix_program(const P& p, Definitions definitions) {
  constexpr int64_t kKeys = 32, kRows = MatrixSizes::kRows, kPadding = 4, kStats = 2;
  const MatrixSizes sizes(p);
  // As many as have room for their parts in the shared memory that every program has.
  const int64_t warps = std::min(tiles_of(p.keys, kKeys), 8 / sizes.value_blocks);
  definitions.emplace_back("WARPS", std::to_string(warps));
  Grid grid = grid_of_blocks(sizes.heads * tiles_of(p.queries, kRows), 1);
  grid.threads = static_cast<unsigned>(warps * 32);
  grid.shared = static_cast<unsigned>(warps * kRows *
                                      (sizes.value_blocks * MatrixSizes::kValueBlock + kPadding + kStats) *
                                      static_cast<int64_t>(sizeof(float)));
  return sizes.program("matrix_attention", std::move(definitions), grid);
}

// Blocks take 64 queries of floats, as many keys at a time. Nothing where these are too few blocks for a
// large GPU, or heads are too large for the shared memory that every program has.
std::optional<Program> float_program(const P& p, bool in_packs, Definitions definitions) {
  constexpr int64_t kTile = 64, kEnoughBlocks = 128;
  const int64_t blocks = int64_t{p.batch} * p.heads * tiles_of(p.queries, kTile);
  if (!in_packs || blocks < kEnoughBlocks || p.head_size > kTile || p.value_size > kTile) return std::nullopt;
  definitions.insert(definitions.end(),
                     {{"HEAD", std::to_string(p.head_size)}, {"VALUE", std::to_string(p.value_size)}});
  Grid grid = grid_of_blocks(blocks, 1);
  grid.threads = kThreads;
  grid.shared = static_cast<unsigned>((p.head_size + kTile + p.value_size) * kTile *
                                      static_cast<int64_t>(sizeof(float)));
  return program_of("float_attention", std::move(definitions), grid);
}

// Blocks take up to 16 queries: as many as there are, and have room for their scores. Nothing where one has
// none.
std::optional<Program> plain_program(const P& p, bool in_packs, Definitions definitions) {
  const int64_t row = (int64_t{p.keys} + p.head_size + kThreads) * static_cast<int64_t>(sizeof(float));
  int64_t queries = 16;
  while (queries > 1 && (queries / 2 >= p.queries || queries * row > kSharedMemory)) queries /= 2;
  if (queries * row > kSharedMemory) return std::nullopt;
  definitions.insert(definitions.end(),
                     {{"QUERIES", std::to_string(queries)}, {"PACK", in_packs ? "4" : "1"}});
  Grid grid = grid_of_blocks(int64_t{p.batch} * p.heads * tiles_of(p.queries, queries), kThreads);
  grid.shared = static_cast<unsigned>(queries * row);
  return program_of("attention", definitions, grid);
}

// Blocks take up to 8 queries of the heads that share keys, and so few keys that all of a large GPU has work.
// Sets how keys are dealt to them; nothing where a block has no room.
std::optional<Program> decode_program(P& p, int64_t pack, Definitions definitions) {
  constexpr int64_t kMostRows = 8, kMostKeys = 512, kLeastKeys = 64, kEnoughBlocks = 264;
  const int64_t queries = int64_t{p.heads} / p.kv_heads * p.queries;
  const auto rows = std::min(kMostRows, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(queries))));
  const int64_t groups = int64_t{p.batch} * p.kv_heads * tiles_of(queries, rows);
  const int64_t wanted = tiles_of(p.keys, std::max<int64_t>(1, kEnoughBlocks / groups));
  p.split_keys =
      static_cast<int>(tiles_of(std::clamp(wanted, kLeastKeys, kMostKeys), kLeastKeys) * kLeastKeys);
  p.splits = static_cast<int>(tiles_of(p.keys, p.split_keys));
  const int64_t floats = rows * (int64_t{p.split_keys} + p.head_size) + kThreads * pack;
  if (floats * static_cast<int64_t>(sizeof(float)) > kSharedMemory) return std::nullopt;
  const auto columns = static_cast<uint64_t>(tiles_of(p.value_size, pack));
  definitions.insert(definitions.end(),
                     {{"ROWS", std::to_string(rows)},
                      {"PACK", std::to_string(pack)},
                      {"WIDTH", std::to_string(std::min<uint64_t>(kThreads, std::bit_ceil(columns)))}});
  Grid grid = grid_of_blocks(groups * p.splits, kThreads);
  grid.shared = static_cast<unsigned>(floats * static_cast<int64_t>(sizeof(float)));
  return program_of("decode_attention", definitions, grid);
}

void launch(CudaKernel& kernel, Program program, const P& p, const AttentionPlaces& places) {
  kernel.launch(std::move(program.source), program.grid, p,
                {{&P::q, places.q}, {&P::k, places.k}, {&P::v, places.v}}, {{&P::y, CudaKernel::output()}});
  if (places.mask) kernel.add_pointer(offsetof(P, mask), *places.mask);
  if (places.padding) kernel.add_pointer(offsetof(P, padding), *places.padding);
  if (places.counts) kernel.add_pointer(offsetof(P, counts), *places.counts);
  if (places.sinks) kernel.add_pointer(offsetof(P, sinks), *places.sinks);
}

bool add_decoding(CudaKernel& kernel, P p, const AttentionPlan& plan, const AttentionPlaces& places) {
  const Definitions definitions = definitions_of(plan, places);
  const auto pack = static_cast<int64_t>(16 / element_size(plan.element));
  auto program = decode_program(p, lies_in_packs(p, places, plan.element, pack) ? pack : 1, definitions);
  if (!program) return false;
  launch(kernel, std::move(*program), p, places);
  if (p.splits == 1) return true;
  const int64_t results = plan.q.batch * plan.q.heads * plan.q.rows;
  const auto partials = kernel.more_scratch(results * p.splits * (plan.v.size + 2), ElementType::kFloat);
  kernel.add_pointer(offsetof(P, partials), partials);
  launch(kernel, program_of("joined_attention", definitions, grid_of_blocks(results, plan.v.size)), p,
         places);
  kernel.add_pointer(offsetof(P, partials), partials);
  return true;
}

}  // namespace

bool add_attention(CudaKernel& kernel, const AttentionPlan& plan, const AttentionPlaces& places,
                   int64_t past) {
  constexpr int kFewQueries = 4;
  const P p = parameters_of(plan, places, past);
  kernel.contract = blocked_contract(ElementType::kFloat, plan.element);
  kernel.contract.approximate = true;
  const bool by_matrix_units = suits_matrix_units(p, places, plan.element);
  if (p.queries <= (by_matrix_units ? 1 : kFewQueries) && add_decoding(kernel, p, plan, places)) return true;
  const Definitions definitions = definitions_of(plan, places);
  if (by_matrix_units) {
    kernel.contract.probabilities = plan.element;
    auto tiled = tiled_program(p, definitions);
    launch(kernel, tiled ? std::move(*tiled) : matrix_program(p, definitions), p, places);
    return true;
  }
  const bool in_packs = lies_in_packs(p, places, plan.element, 4);
  auto program = plan.element == ElementType::kFloat ? float_program(p, in_packs, definitions) : std::nullopt;
  if (!program) program = plain_program(p, in_packs, definitions);
  if (!program) return add_decoding(kernel, p, plan, places);
  launch(kernel, std::move(*program), p, places);
  return true;
}

}  // namespace vernier::cuda
