// Normalisation of rows (LayerNormalization, RMSNormalization and what com.microsoft had before them, with a
// sum in front), alone and at the end of a chain of pointwise operators: "Group/normalization".
#include "vernier/backends/cuda/normalization/normalize_rows.h"

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/pointwise/emit.h"
#include "vernier/backends/shared/pointwise/lowering.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/normalise.h"

namespace vernier::cuda {

namespace {

using pointwise::Instruction;
using pointwise::Lowering;
using P = RowNormalizeParameters;

constexpr const char* kRowOperators[] = {"LayerNormalization", "RMSNormalization",
                                         "SimplifiedLayerNormalization"};
constexpr int64_t kLongestChain = 16384;

class RowNormalization {
 public:
  explicit RowNormalization(const KernelRequest& request)
      : request_(request),
        node_(ops::is_group(request.node) ? *ops::body(request.node).nodes().back() : request.node),
        places_(ops::row_normalization_places(node_)),
        result_(result()),
        y_(request.out(result_)),
        computed_(pointwise::register_type(y_.element)) {}

  std::unique_ptr<CudaKernel> make() {
    require_operands();
    const EmittedPointwise chain = emit_elements(request_, program(), result_);
    auto kernel = std::make_unique<CudaKernel>(request_, "normalize");
    kernel->contract = blocked_contract(computed_, y_.element);
    if (!is_in_float()) kernel->contract.accumulated = ElementType::kDouble;
    kernel->contract.approximate = chain.approximate;
    kernel->contract.rounds_between = ops::is_group(request_.node);
    launch(*kernel, chain);
    add_operands(
        *kernel, chain, [](size_t input) { return CudaKernel::input(input); }, offsetof(P, chain));
    add_parameter(*kernel, offsetof(P, scale), places_.scale);
    add_parameter(*kernel, offsetof(P, bias), places_.bias);
    kernel->add_pointer(offsetof(P, y), CudaKernel::output(result_));
    add_statistics(*kernel, offsetof(P, mean), places_.mean);
    add_statistics(*kernel, offsetof(P, inverse_deviation), places_.inverse_deviation);
    return kernel;
  }

 private:
  // The output of the request that the normalised rows are.
  size_t result() const {
    if (!ops::is_group(request_.node)) return 0;
    const auto& outputs = ops::body(request_.node).outputs;
    return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), node_.output(0)) - outputs.begin());
  }

  // The input of the request that an operand of the normalisation is.
  std::optional<size_t> input(int place) const {
    if (place < 0 || node_.input(static_cast<size_t>(place)) == nullptr) return std::nullopt;
    const Value* value = node_.input(static_cast<size_t>(place));
    const auto& inputs = ops::is_group(request_.node) ? ops::body(request_.node).inputs : node_.inputs;
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found == inputs.end()) throw pointwise::Refused{"a scale that is made in the group"};
    return static_cast<size_t>(found - inputs.begin());
  }

  bool is_wanted(int output) const {
    return !ops::is_group(request_.node) && output >= 0 && request_.wants(static_cast<size_t>(output));
  }

  static bool is_real(ElementType type) { return is_float(type) && !device_type(type).empty(); }

  // All parameters are of one type, one for each element of a row; what is summed is of the type of the
  // result.
  void require_operands() {
    const int64_t axis = places_.skip >= 0
                             ? y_.rank() - 1
                             : ops::normalize_axis(ops::integer_attribute(node_, "axis"), y_.rank());
    length_ = ops::product(y_.dims, static_cast<size_t>(axis), y_.dims.size());
    bool serves = is_real(y_.element) && y_.size() > 0;
    // One block computes the chain of a row.
    if (ops::is_group(request_.node) && length_ > kLongestChain)
      throw pointwise::Refused{fmt::format("a chain of {} elements to one block", length_)};
    for (const int place : {places_.scale, places_.bias, places_.addend}) {
      const auto at = input(place);
      if (!at) continue;
      const Operand& operand = request_.in(*at);
      if (parameter_ == ElementType::kUndefined) parameter_ = operand.element;
      serves = serves && operand.size() == length_ && operand.element == parameter_ && is_real(parameter_);
    }
    for (const int place : {0, places_.skip}) {
      if (const auto at = ops::is_group(request_.node) ? std::nullopt : input(place))
        serves = serves && request_.in(*at).element == y_.element;
    }
    for (const int output : {places_.mean, places_.inverse_deviation})
      serves = serves && (!is_wanted(output) ||
                          request_.out(static_cast<size_t>(output)).element == ElementType::kFloat);
    if (!serves)
      throw pointwise::Refused{fmt::format("no normalisation of {} {} with such a scale",
                                           element_type_short_name(y_.element), dims_text(y_.dims))};
    if (parameter_ == ElementType::kUndefined) parameter_ = y_.element;
  }

  // Computes the rows that are normalised.
  pointwise::Program program() const {
    Lowering lowering(request_);
    if (ops::is_group(request_.node)) return lowering.run_before_last();
    size_t sum = 0;
    auto program = lowering.run([&](Lowering& made) {
      auto x = made.read(node_, 0);
      if (places_.skip >= 0) x = made.apply("Add", {x, made.read(node_, 1)});
      if (const auto addend = input(places_.addend))
        x = made.apply("Add", {x, made.cast(made.load(*addend, {length_}), x.type)});
      sum = x.id;
      return x;
    });
    if (is_wanted(places_.sum))
      program.push_back({.kind = Instruction::Kind::kStore,
                         .type = computed_,
                         .operand_type = computed_,
                         .to = y_.element,
                         .from = {sum},
                         .index = static_cast<size_t>(places_.sum)});
    return program;
  }

  // Statistics of 16-bit elements are kept in float, in which sums of so many of them that are equal are
  // exact.
  bool is_in_float() const {
    constexpr int64_t kLongestExact = 8192;
    return element_size(y_.element) == sizeof(uint16_t) && computed_ == ElementType::kFloat &&
           length_ <= kLongestExact;
  }

  // Few rows are each shared by as many threads as there are packs; of many, a thread takes several packs.
  void launch(CudaKernel& kernel, const EmittedPointwise& chain) const {
    constexpr int64_t kManyRows = 512, kPacks = 4, kMostKept = 8, kWarp = 32, kMostThreads = 1024;
    const int64_t width = length_ % chain.width == 0 ? chain.width : 1, packs = length_ / width;
    P parameters{};
    parameters.chain = parameters_of(chain, request_);
    parameters.length = length_;
    parameters.rows = y_.size() / length_;
    parameters.epsilon = static_cast<double>(ops::real_attribute(node_, "epsilon"));
    const int64_t each = parameters.rows < kManyRows ? 1 : kPacks;
    const int64_t threads = std::clamp((packs + each - 1) / each, kWarp, kMostThreads) + kWarp - 1;
    Grid grid = grid_of_blocks(parameters.rows, kWarp);
    grid.threads = static_cast<unsigned>(threads / kWarp * kWarp);
    const int64_t kept = (packs + grid.threads - 1) / grid.threads;
    const auto type = [](ElementType element) { return std::string(device_type(element)); };
    ProgramSource source =
        kernel_source("normalize_rows", {{"T", type(y_.element)},
                                         {"PARAMETER", type(parameter_)},
                                         {"ACC", type(computed_)},
                                         {"CENTRED", places_.centred ? "1" : "0"},
                                         {"IN_FLOAT", is_in_float() ? "1" : "0"},
                                         {"N", std::to_string(width)},
                                         {"THREADS", std::to_string(grid.threads)},
                                         {"PACKS", std::to_string(kept > kMostKept ? 0 : kept)}});
    source.body = chain.source.body + source.body;
    kernel.launch(std::move(source), grid, parameters, {}, {});
  }

  void add_parameter(CudaKernel& kernel, size_t offset, int place) const {
    if (const auto at = input(place)) kernel.add_pointer(offset, CudaKernel::input(*at));
  }
  void add_statistics(CudaKernel& kernel, size_t offset, int output) const {
    if (is_wanted(output)) kernel.add_pointer(offset, CudaKernel::output(static_cast<size_t>(output)));
  }

  const KernelRequest& request_;
  const Node& node_;
  const ops::RowNormalizationPlaces places_;
  const size_t result_;
  const Operand& y_;
  const ElementType computed_;
  ElementType parameter_ = ElementType::kUndefined;
  int64_t length_ = 0;
};

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  try {
    return RowNormalization(request).make();
  } catch (const pointwise::Refused& refused) {
    reason = refused.reason;
    return nullptr;
  }
}

}  // namespace

bool normalizes_rows(const Node& node) {
  return node.domain.empty() &&
         std::find(std::begin(kRowOperators), std::end(kRowOperators), node.op) != std::end(kRowOperators);
}

void register_normalize_rows(KernelRegistry& registry) {
  for (const char* op : kRowOperators) registry.add("", op, make);
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
    registry.add("com.microsoft", op, make);
  registry.add("vernier", "Group/normalization", make);
}

}  // namespace vernier::cuda
