#include "vernier/backends/cuda/cublaslt/lt_multiplication.h"
#include "vernier/backends/cuda/quantization/int8_contraction.h"

namespace vernier::cuda {

namespace {

// Sums of integers are the same in any order.
bool is_sound(const LtFound& /*way*/) {
  return true;
}

// Describes what cuBLASLt is asked for.
struct LibraryProduct {
  Int8Contraction asked;
  Factors factors;
  LtHandle handle;
};

int64_t rounded_up(int64_t count, int64_t to) {
  return (count + to - 1) / to * to;
}

// Its products of INT8 have rows of both factors of whole words, a multiple of four columns, and no batches
// that broadcast. A known matrix gets columns of zeros.
std::optional<LibraryProduct> library_product(const KernelRequest& request, CublasLt& library,
                                              std::string& reason) {
  constexpr int64_t kWord = 4, kPack = 16;
  if (!multiplies_int8(request.node)) return std::nullopt;
  auto asked = int8_contraction(request, reason);
  if (!asked) return std::nullopt;
  Factors factors = factors_of(request, *asked);
  const bool grows = request.in(asked->b.values).constant != nullptr && asked->product.batch_rank == 0;
  if (grows) factors.columns = rounded_up(factors.columns, kWord);
  if (factors.columns % kWord != 0 || (asked->convolution && asked->convolution->groups > 1)) {
    reason = "cuBLASLt multiplies int8 by a multiple of four columns, and no groups of channels";
    return std::nullopt;
  }
  factors.a.flips = request.in(asked->a.values).element == ElementType::kUint8;
  factors.b.flips = request.in(asked->b.values).element == ElementType::kUint8;
  const int64_t depth = factors.a.rows.depth;
  // Gathered rows may as well be aligned.
  if (factors.a.flips || !factors.a.rows.lie_so() || depth % kWord != 0) {
    for (Rows* each : {&factors.a, &factors.b}) each->rows.pad(rounded_up(depth, kPack));
  }
  const LtHandle handle = library.handle(reason);
  if (handle == nullptr) return std::nullopt;
  return LibraryProduct{std::move(*asked), factors, handle};
}

// Multiplies so many rows of a. Gives null, with `reason`, for batches without one step.
std::shared_ptr<LtMultiplication> multiplication_of(const LibraryProduct& made, CublasLt& library,
                                                    int64_t rows, std::string& reason) {
  const auto product = lt_product(product_of(made.asked, made.factors, rows), ElementType::kInt8, reason);
  if (!product) return nullptr;
  return std::make_shared<LtMultiplication>(*product, LtTypes{kLtCompute32I, kLtInt32, kLtInt8, kLtInt32},
                                            library, made.handle);
}

struct LibraryWay {
  std::shared_ptr<LtMultiplication> product;
  CudaKernel::Place scratch;
};

}  // namespace

std::unique_ptr<CudaKernel> make_library_int8_contraction(const KernelRequest& request, CublasLt& library,
                                                          std::string& reason, int64_t most_gathered) {
  const auto made = library_product(request, library, reason);
  if (!made) return nullptr;
  auto kernel = std::make_unique<CudaKernel>(request, what_of(made->asked));
  kernel->name = "cublaslt:" + what_of(made->asked);
  ContractionBuilder builder(*kernel, request, made->asked);
  std::map<int64_t, LibraryWay> ways;
  const auto multiply = [&](const CudaKernel::Place& a, const CudaKernel::Place& b,
                            const CudaKernel::Place& sums, int64_t rows) {
    if (!ways.contains(rows)) {
      const auto product = multiplication_of(*made, library, rows, reason);
      // The rest of the rows has an algorithm of its own.
      const std::string_view tactic = ways.empty() ? request.tactic : std::string_view();
      if (product == nullptr || !product->take(product->ways(is_sound, reason), tactic, reason)) return false;
      ways[rows] = {product, kernel->more_scratch(product->scratch_bytes())};
    }
    const auto& [product, scratch] = ways.at(rows);
    kernel->call({b, a, sums, scratch}, [product = product, name = kernel->name](
                                            const std::vector<std::byte*>& at, StreamHandle stream) {
      constexpr int32_t kOne = 1, kNone = 0;
      product->enqueue(&kOne, &kNone, {at[0], at[1], at[2], at[2], at[3]}, stream, name);
    });
    return true;
  };
  const auto chunks = chunks_of(made->asked, made->factors.a, most_gathered);
  return builder.multiply(made->factors, chunks, multiply) && builder.finish(reason) ? std::move(kernel)
                                                                                     : nullptr;
}

std::vector<std::string> library_int8_tactics(const KernelRequest& request, CublasLt& library) {
  std::string reason;
  std::vector<std::string> names;
  const auto made = library_product(request, library, reason);
  if (!made) return names;
  const int64_t rows = chunks_of(made->asked, made->factors.a, kMostGathered).front().count;
  const auto product = multiplication_of(*made, library, rows, reason);
  if (product == nullptr) return names;
  for (const LtFound& way : product->ways(is_sound, reason)) names.push_back(product->tactic_of(way));
  return names;
}

}  // namespace vernier::cuda
