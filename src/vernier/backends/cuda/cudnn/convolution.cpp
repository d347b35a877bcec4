#include "vernier/backends/cuda/cudnn/convolution.h"

#include <array>

#include "vernier/backends/cuda/contractions/weight_order.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"

namespace vernier::cuda {

namespace {

size_t bytes_of(const DnnTensor& tensor, ElementType element) {
  return static_cast<size_t>(element_count(tensor.sizes)) * element_size(element);
}

class DnnKernel : public CudaKernel {
 public:
  DnnKernel(const KernelRequest& request, const DnnConvolution& asked, Cudnn& library,
            std::shared_ptr<const DnnPlan> plan);

  void run(const KernelArguments& arguments) const override;
  void add_payloads(Payloads& to) const override;

 private:
  struct Bound {
    DnnId id;
    Place place;
  };

  void bind(DnnId id, const Place& place);
  Place image(const DnnConvolution& asked);
  Place weights(const KernelRequest& request, const DnnConvolution& asked);

  Cudnn& library_;
  std::shared_ptr<const DnnPlan> plan_;
  std::vector<Bound> bound_;
  Place workspace_;
};

DnnKernel::DnnKernel(const KernelRequest& request, const DnnConvolution& asked, Cudnn& library,
                     std::shared_ptr<const DnnPlan> plan)
    : CudaKernel(request, "convolution"), library_(library), plan_(std::move(plan)) {
  name = request.node.op == "Gemm" ? "cudnn:product" : asked.tf32 ? "cudnn:tf32" : "cudnn:convolution";
  contract = library_contract(asked.element, asked.tf32);
  bind(DnnId::kW, weights(request, asked));
  bind(DnnId::kX, asked.pads_channels ? image(asked) : input(asked.x_input));
  if (asked.residual_input) bind(DnnId::kResidual, input(*asked.residual_input));
  if (asked.bias_input)
    bind(DnnId::kBias, input(*asked.bias_input));
  else if (asked.adds_zeros)
    bind(DnnId::kBias, constant(std::vector<std::byte>(bytes_of(asked.bias, asked.element))));
  bind(DnnId::kY, output());
  workspace_ = more_scratch(plan_->working_bytes());
}

void DnnKernel::bind(DnnId id, const Place& place) {
  bound_.push_back({id, place});
  note(place);
}

CudaKernel::Place DnnKernel::image(const DnnConvolution& asked) {
  const Place padded = more_scratch(bytes_of(asked.x, asked.element));
  const Dims& sizes = asked.x.sizes;
  CopyParameters parameters{};
  parameters.count = element_count(sizes) / sizes[1];
  parameters.sizes[0] = parameters.count / sizes[0];
  launch(kernel_source("pad_channels", {{"CHANNELS", std::to_string(asked.image_channels)},
                                        {"IDX", std::string(index_type(parameters.count))}}),
         grid_over(parameters.count), parameters, {{&CopyParameters::from, input(asked.x_input)}},
         {{&CopyParameters::to, padded}});
  return padded;
}

CudaKernel::Place DnnKernel::weights(const KernelRequest& request, const DnnConvolution& asked) {
  const int64_t channels = asked.w.sizes[1];
  const bool has_taps = element_count(asked.w.sizes) != asked.w.sizes[0] * channels;
  if (!asked.pads_channels && !asked.turns_weights && (!asked.channels_last || channels == 1 || !has_taps))
    return input(asked.w_input);
  const WeightOrder order = asked.pads_channels   ? WeightOrder::kChannelsLastOfEight
                            : asked.turns_weights ? WeightOrder::kTransposed
                                                  : WeightOrder::kChannelsLast;
  const auto [place, bytes] = order_weights(*this, request, asked.w_input, order);
  scratch_bytes = bytes;
  return place;
}

void DnnKernel::run(const KernelArguments& arguments) const {
  CudaKernel::run(arguments);  // copies of weights and images
  auto* stream = dynamic_cast<CudaStream*>(arguments.stream);
  if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
  std::array<DnnOperand, Cudnn::kMostOperands> operands{};
  for (size_t i = 0; i < bound_.size(); ++i)
    operands.at(i) = {bound_[i].id, address(bound_[i].place, arguments, *stream)};
  library_.run(*plan_, std::span(operands.data(), bound_.size()), address(workspace_, arguments, *stream),
               *stream, name);
}

void DnnKernel::add_payloads(Payloads& to) const {
  CudaKernel::add_payloads(to);
  if (to.contains(plan_->name)) return;
  try {
    to[plan_->name] = plan_->json();
  } catch (const DnnRefusal&) {  // the plan is searched again where the engine is loaded
  }
}

std::optional<DnnConvolution> served(const KernelRequest& request, Cudnn& library, std::string& reason) {
  auto asked = dnn_convolution(request, reason);
  if (!asked || !library.serves(reason)) return std::nullopt;
  if (!asked->activation) return asked;
  reason = "no plan of cuDNN computes what follows the convolution";
  return std::nullopt;
}

}  // namespace

std::unique_ptr<CudaKernel> make_library_convolution(const KernelRequest& request, Cudnn& library,
                                                     std::string& reason) {
  auto asked = served(request, library, reason);
  if (!asked) return nullptr;
  auto plan = library.plan(*asked, request.tactic, reason);
  if (plan == nullptr && std::exchange(asked->tf32, false))
    plan = library.plan(*asked, request.tactic, reason);
  return plan == nullptr ? nullptr : std::make_unique<DnnKernel>(request, *asked, library, std::move(plan));
}

std::vector<std::string> library_convolution_tactics(const KernelRequest& request, Cudnn& library) {
  std::string reason;
  auto asked = served(request, library, reason);
  if (!asked) return {};
  std::vector<std::string> names = library.tactics(*asked);
  if (!std::exchange(asked->tf32, false)) return names;
  const auto strict = library.tactics(*asked);
  names.insert(names.end(), strict.begin(), strict.end());
  return names;
}

bool lay_out_convolution(KernelRequest& request) {
  lay_out_plain(request);
  std::string reason;
  const auto asked = dnn_convolution(request, reason);
  if (!asked) return false;
  const bool by_matrix_units = asked->element != ElementType::kFloat || asked->tf32;
  if (!by_matrix_units || request.node.op == "Gemm") return true;
  if (!has_few_channels(request, *asked)) request.inputs[asked->x_input]->layout = Layout::kChannelsLast;
  if (asked->residual_input) request.inputs[*asked->residual_input]->layout = Layout::kChannelsLast;
  request.outputs[0]->layout = Layout::kChannelsLast;
  return true;
}

}  // namespace vernier::cuda
