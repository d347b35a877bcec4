#include "vernier/backends/cuda/recurrent/recurrent.h"

#include "vernier/backends/cuda/contractions/product.h"
#include "vernier/backends/cuda/cublaslt/lt_multiplication.h"
#include "vernier/backends/cuda/kernel_registry.h"

namespace vernier::cuda {

namespace {

using namespace recurrent;
using Place = CudaKernel::Place;

// Adds a product of X and W, to [rows of X, directions * gates * hidden].
using Multiply = std::function<bool(CudaKernel& kernel, const RecurrentLayer& layer, const Product& product,
                                    const Place& projected)>;

std::optional<RecurrentLayer> served_layer(const KernelRequest& request, std::string& reason) {
  auto layer = recurrent_layer(request, reason);
  if (!layer) return std::nullopt;
  const ElementType type = layer->element;
  const bool is_served = is_float(type) && !device_type(type).empty();
  const bool is_empty = request.in(kX).size() == 0 || layer->hidden == 0;
  if (is_served && !is_empty) return layer;
  reason = is_served ? "an input has no elements: what that gives is left to the reference"
                     : fmt::format("no {} of {}", request.node.op, element_type_short_name(type));
  return std::nullopt;
}

// The directions and gates are rows of one matrix W.
Product product_of(const RecurrentLayer& layer) {
  Product product;
  ProductParameters& p = product.parameters;
  p.m = static_cast<int>(layer.steps * layer.batch);
  p.n = static_cast<int>(layer.directions() * layer.width());
  p.k = static_cast<int>(layer.inputs);
  p.a_row = p.b_column = layer.inputs;
  p.a_column = p.b_row = 1;
  return product;
}

std::unique_ptr<CudaKernel> make_recurrent(const KernelRequest& request, std::string& reason,
                                           int64_t most_looped, const Multiply& multiply) {
  const auto layer = served_layer(request, reason);
  if (!layer) return nullptr;
  auto kernel = std::make_unique<CudaKernel>(request, "recurrent");
  const Product product = product_of(*layer);
  const auto projected =
      kernel->more_scratch(int64_t{product.parameters.m} * product.parameters.n, state_type(layer->element));
  if (!multiply(*kernel, *layer, product, projected)) return nullptr;
  add_steps(*kernel, request, *layer, projected, most_looped);
  return kernel;
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  return make_own_recurrent(request, reason);
}

}  // namespace

std::unique_ptr<CudaKernel> make_own_recurrent(const KernelRequest& request, std::string& reason,
                                               int64_t most_looped) {
  return make_recurrent(
      request, reason, most_looped,
      [&](CudaKernel& kernel, const RecurrentLayer& layer, const Product& product, const Place& projected) {
        const ElementType sums = state_type(layer.element);
        return add_product(kernel, product, {layer.element, layer.element, sums, sums}, CudaKernel::input(kX),
                           CudaKernel::input(kW), projected, reason);
      });
}

std::unique_ptr<CudaKernel> make_library_recurrent(const KernelRequest& request, CublasLt& library,
                                                   std::string& reason, int64_t most_looped) {
  return make_recurrent(
      request, reason, most_looped,
      [&](CudaKernel& kernel, const RecurrentLayer& layer, const Product& product, const Place& projected) {
        const ElementType type = layer.element;
        if (type == ElementType::kDouble) return false;
        const auto asked = lt_product(product, type, reason);
        const LtHandle handle = library.handle(reason);
        if (!asked || handle == nullptr) return false;
        const LtTypes types{kLtCompute32F, kLtFloat, lt_type(type), kLtFloat};
        const auto made = std::make_shared<LtMultiplication>(*asked, types, library, handle);
        const auto keeps = [&](const LtFound& way) { return made->sums_in_float(way, type); };
        if (!made->take(made->ways(keeps, reason), "", reason)) return false;
        kernel.name = "cublaslt:recurrent";
        kernel.call({CudaKernel::input(kW), CudaKernel::input(kX), projected,
                     kernel.more_scratch(made->scratch_bytes())},
                    [made, name = kernel.name](const std::vector<std::byte*>& at, StreamHandle stream) {
                      constexpr float kOne = 1, kNone = 0;
                      made->enqueue(&kOne, &kNone, {at[0], at[1], at[2], at[2], at[3]}, stream, name);
                    });
        return true;
      });
}

void register_recurrent(KernelRegistry& registry) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) registry.add("", op, make);
}

}  // namespace vernier::cuda
