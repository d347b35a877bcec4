#include "vernier/backends/cpu/onednn/reorder.h"

#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// A reorder moves bits: any type of the same width will do.
std::optional<ElementType> carrier(size_t bytes) {
  switch (bytes) {
    case 1: return ElementType::kUint8;
    case 2: return ElementType::kBFloat16;
    case 4: return ElementType::kInt32;
    default: return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to) {
  const auto element = carrier(element_size(from.element));
  if (!element) throw internal_error("no reorder of {}", element_type_name(from.element));
  Operand source = from, target = from;
  source.element = target.element = *element;
  target.layout = to;
  const auto source_md = describe(source), target_md = describe(target);
  const int threads = threads_for(4 * static_cast<double>(from.size()));
  const ThreadScope scope(threads);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc pd(dnnl_engine(), source_md, dnnl_engine(), target_md, attributes);
  auto kernel =
      std::make_unique<DnnlKernel>(dnnl::reorder(pd), pd.scratchpad_desc(),
                                   std::vector<Argument>{{DNNL_ARG_FROM, source_md, 0, -1, std::nullopt},
                                                         {DNNL_ARG_TO, target_md, -1, 0, std::nullopt}});
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->name = fmt::format("onednn:reorder:{}-{}", layout_name(from.layout), layout_name(to));
  return kernel;
}

}  // namespace vernier::cpu
