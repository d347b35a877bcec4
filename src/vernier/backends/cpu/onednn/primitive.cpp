#include "vernier/backends/cpu/onednn/primitive.h"

#include <cstring>

#include "vernier/backends/cpu/onednn/packed_form.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(dnnl_engine());
  return stream;
}

// oneDNN's cache of primitives takes descriptors for equal that differ in the strides of axes of one element.
// It then gives, for a plain image of one pixel, what was chosen for a channels-last one before: what a plan
// becomes would depend on what the process made earlier, and another process could not repeat it. Kernels of
// an engine are shared by its sessions, so little is made twice.
dnnl::engine& dnnl_engine() {
  static dnnl::engine engine = [] {
    take_openmp_calls();
    dnnl::set_primitive_cache_capacity(0);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

std::optional<dnnl::memory::data_type> dnnl_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return dnnl::memory::data_type::f32;
    case ElementType::kFloat16: return dnnl::memory::data_type::f16;
    case ElementType::kBFloat16: return dnnl::memory::data_type::bf16;
    case ElementType::kInt32: return dnnl::memory::data_type::s32;
    case ElementType::kInt8: return dnnl::memory::data_type::s8;
    case ElementType::kUint8: return dnnl::memory::data_type::u8;
    default: return std::nullopt;
  }
}

dnnl::memory::dims to_dnnl(const Dims& dims) {
  return dims.empty() ? dnnl::memory::dims{1} : dnnl::memory::dims(dims.begin(), dims.end());
}

dnnl::memory::desc plain(dnnl::memory::data_type type, const Dims& dims) {
  const auto sizes = to_dnnl(dims);
  dnnl::memory::dims strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * std::max<int64_t>(1, sizes[i + 1]);
  return {sizes, type, strides};
}

dnnl::memory::desc any(dnnl::memory::data_type type, const Dims& dims) {
  return {to_dnnl(dims), type, dnnl::memory::format_tag::any};
}

dnnl::memory::dims dims_of(const dnnl::memory::desc& descriptor) {
#if DNNL_VERSION_MAJOR >= 3
  return descriptor.get_dims();
#else
  return descriptor.dims();
#endif
}

dnnl::memory::desc describe(const Operand& operand) {
  using Tag = dnnl::memory::format_tag;
  const auto type = *dnnl_type(operand.element);
  if (operand.layout == Layout::kPlain || operand.rank() < 3) return plain(type, operand.dims);
  constexpr Tag kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  constexpr Tag kBlocked[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
  const auto spatial = static_cast<size_t>(operand.rank() - 3);
  return {to_dnnl(operand.dims), type,
          operand.layout == Layout::kChannelsLast ? kLast[spatial] : kBlocked[spatial]};
}

PackedMemory pack(const KernelRequest& request, const Tensor& content, const dnnl::memory::desc& as_is,
                  const dnnl::memory::desc& wanted) {
  const auto fill = [content, as_is, wanted](std::byte* memory) {
    dnnl::memory from(as_is, dnnl_engine(), const_cast<void*>(content.raw()));  // a source is only read
    dnnl::memory to(wanted, dnnl_engine(), memory);
    dnnl::reorder(from, to).execute(thread_stream(), from, to);
    thread_stream().wait();
  };
  return pack(request, content, packed_form(as_is, wanted), wanted, fill);
}

PackedMemory pack(const KernelRequest& request, const Tensor& content, const std::string& form,
                  const dnnl::memory::desc& wanted, PackedForm::Fill fill) {
  // Constants are packed side by side, each by one thread.
  auto alone = [fill = std::move(fill)](std::byte* to) {
    const ThreadLimit scope(1);
    fill(to);
  };
  return {{}, request.pack(content, form, wanted.get_size(), std::move(alone))};
}

Argument weights_argument(const KernelRequest& request, int input, const dnnl::memory::desc& as_is,
                          const dnnl::memory::desc& wanted) {
  const Tensor* content = request.in(static_cast<size_t>(input)).constant;
  if (content == nullptr) return {DNNL_ARG_WEIGHTS, as_is, input, -1, std::nullopt};
  return {DNNL_ARG_WEIGHTS, wanted, -1, -1, pack(request, *content, as_is, wanted)};
}

namespace {

std::string_view implementation_of(const dnnl::primitive_desc_base& description) {
  const char* name = "";
  dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name);
  return name;
}

}  // namespace

DnnlKernel::DnnlKernel(dnnl::primitive_desc_base description, const dnnl::memory::desc& scratch,
                       std::vector<Argument> arguments)
    : description_(std::move(description)),
      scratch_(scratch),
      arguments_(std::move(arguments)),
      made_under_(thread_count()),
      team_(team_kind(implementation_of(description_))) {
  scratch_bytes = scratch_.get_size();
}

bool DnnlKernel::reads(size_t input) const {
  const auto index = static_cast<int>(input);
  return index == accumulate_into ||
         std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const Argument& argument) { return argument.input == index; });
}

struct DnnlKernel::Bound {
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

DnnlKernel::~DnnlKernel() {
  delete kept_.load();
  delete prepared_.load();
}

const DnnlKernel::Prepared& DnnlKernel::prepared() const {
  if (const Prepared* made = prepared_.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(mutex_);
  if (const Prepared* made = prepared_.load(std::memory_order_acquire)) return *made;
  const OneDnnTeam team(made_under_, team_);
  auto made = std::make_unique<Prepared>();
  try {
    made->primitive = shared_primitive(description_, made_under_);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw internal_error("oneDNN cannot make what it described as '{}': {}", name, error.message);
  }
  for (const Argument& argument : arguments_) {
    if (!argument.own || !argument.own->form) {
      made->own.push_back(argument.own ? argument.own->memory : dnnl::memory());
      continue;
    }
    void* content = const_cast<std::byte*>(argument.own->form->content().data());  // it is only read
    made->own.emplace_back(argument.descriptor, dnnl_engine(), content);
  }
  description_ = {};  // what was made has one, which kernels that share it share, too
  const Prepared* result = made.release();
  prepared_.store(result, std::memory_order_release);
  return *result;
}

std::unique_ptr<DnnlKernel::Bound> DnnlKernel::take(const Prepared& prepared) const {
  if (Bound* kept = kept_.exchange(nullptr)) return std::unique_ptr<Bound>(kept);
  auto bound = std::make_unique<Bound>();
  const auto add = [&](int id, dnnl::memory memory) {
    bound->memories.push_back(std::move(memory));
    bound->arguments.push_back({id, bound->memories.back().get()});
  };
  for (size_t i = 0; i < arguments_.size(); ++i)
    add(arguments_[i].id,
        arguments_[i].own ? prepared.own[i] : dnnl::memory(arguments_[i].descriptor, dnnl_engine(), nullptr));
  if (scratch_bytes > 0) add(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratch_, dnnl_engine(), nullptr));
  return bound;
}

void DnnlKernel::keep(std::unique_ptr<Bound> bound) const {
  delete kept_.exchange(bound.release());
}

void DnnlKernel::run(const KernelArguments& given) const {
  if (accumulate_into >= 0 && given.inputs[accumulate_into] != given.outputs[0])
    std::memcpy(given.outputs[0], given.inputs[accumulate_into], accumulate_bytes);
  const OneDnnTeam team(made_under_, team_);
  const Prepared& ready = prepared();
  auto bound = take(ready);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.own) continue;
    bound->memories[i].set_data_handle(argument.input >= 0 ? const_cast<void*>(given.inputs[argument.input])
                                                           : given.outputs[argument.output]);
  }
  if (scratch_bytes > 0) bound->memories.back().set_data_handle(given.scratch);
  const dnnl_status_t status =
      dnnl_primitive_execute(ready.primitive->get(), thread_stream().get(),
                             static_cast<int>(bound->arguments.size()), bound->arguments.data());
  dnnl::error::wrap_c_api(status, "could not execute a primitive");
  keep(std::move(bound));
}

std::string dnnl_name(const char* implementation) {
  return fmt::format("onednn:{}", implementation);
}

}  // namespace vernier::cpu
