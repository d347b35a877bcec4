#include "vernier/backends/cuda/cuda_kernel.h"

#include <cstring>

namespace vernier::cuda {

CudaKernel::CudaKernel(const KernelRequest& request, std::string_view what)
    : CudaKernel(request.inputs.size(), what) {
  node_ = request.node.name;
}

CudaKernel::CudaKernel(size_t inputs, std::string_view what) : reads_(inputs, false) {
  name = fmt::format("cuda:{}", what);
}

CudaKernel::Place CudaKernel::constant(std::vector<std::byte> content) {
  const size_t bytes = content.size();
  return constant(std::make_shared<PackedForm>(bytes, [content = std::move(content)](std::byte* to) {
    std::memcpy(to, content.data(), content.size());
  }));
}

CudaKernel::Place CudaKernel::constant(std::shared_ptr<const PackedForm> content) {
  contents_.push_back(std::move(content));
  return {Place::Kind::kConstant, contents_.size() - 1, 0};
}

void CudaKernel::note(const Place& place) {
  if (place.kind == Place::Kind::kInput) reads_.at(place.index) = true;
}

void CudaKernel::add_pointer(Launch& launch, size_t at, const Place& place) {
  launch.pointers.push_back({at, place});
  note(place);
}

void CudaKernel::call(const std::vector<Place>& places, Call enqueue) {
  Launch launch;
  for (const Place& place : places) add_pointer(launch, 0, place);
  launch.call = std::move(enqueue);
  launches_.push_back(std::move(launch));
}

void CudaKernel::repeat(size_t launches, int64_t times, size_t number_offset) {
  if (loop_.count > 0 || launches > launches_.size())
    throw internal_error("'{}' repeats other launches", name);
  loop_ = {launches_.size() - launches, launches, static_cast<int>(times), number_offset};
}

CudaKernel::Place CudaKernel::more_scratch(size_t bytes) {
  constexpr size_t kAlignment = 256;
  const size_t at = (scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
  scratch_bytes = at + bytes;
  return scratch(at);
}

void CudaKernel::report_faults(size_t word_offset, size_t number_offset, const std::string& what) {
  add_pointer(launches_.back(), word_offset, {Place::Kind::kFaults, 0, 0});
  reports_.push_back({launches_.size() - 1, number_offset, what});
}

void CudaKernel::define(const std::string& name, const std::string& meaning) {
  for (Launch& launch : launches_)
    launch.source.body = fmt::format("#define {} {}\n", name, meaning) + launch.source.body;
}

void CudaKernel::install(CudaDevice& device, ProgramStore& programs) {
  device_ = &device;
  for (Launch& launch : launches_) {
    if (!launch.call) launch.program = programs.get(launch.source);
  }
  for (const Report& report : reports_) {
    const int number = device.faults().number_of(node_, report.what);
    std::memcpy(launches_[report.launch].parameters.data() + report.number_offset, &number, sizeof(number));
  }
}

std::vector<ProgramSource> CudaKernel::sources() const {
  std::vector<ProgramSource> all;
  for (const Launch& launch : launches_) {
    if (!launch.call) all.push_back(launch.source);
  }
  return all;
}

std::vector<Grid> CudaKernel::grids() const {
  std::vector<Grid> all;
  for (const Launch& launch : launches_) {
    if (!launch.call) all.push_back(launch.grid);
  }
  return all;
}

void CudaKernel::prepare() const {
  if (prepared_) return;
  const std::lock_guard lock(mutex_);
  if (prepared_) return;
  for (const Launch& launch : launches_) {
    if (launch.program) launch.program->function();
  }
  std::vector<std::shared_ptr<const Buffer>> made;
  made.reserve(contents_.size());
  for (const auto& content : contents_) made.push_back(device_->resident(content));
  constants_ = std::move(made);
  prepared_ = true;
}

void CudaKernel::add_payloads(Payloads& to) const {
  for (const Launch& launch : launches_) {
    if (launch.program) to.try_emplace(launch.source.payload_name(), launch.program->code());
  }
}

std::byte* CudaKernel::address(const Place& place, const KernelArguments& arguments,
                               const CudaStream& stream) const {
  switch (place.kind) {
    case Place::Kind::kInput:
      return static_cast<std::byte*>(const_cast<void*>(arguments.inputs[place.index])) + place.offset;
    case Place::Kind::kOutput: return static_cast<std::byte*>(arguments.outputs[place.index]) + place.offset;
    case Place::Kind::kScratch: return arguments.scratch + place.offset;
    case Place::Kind::kConstant: return constants_[place.index]->address() + place.offset;
    case Place::Kind::kFaults: return reinterpret_cast<std::byte*>(stream.fault_word());
  }
  throw internal_error("a pointer that leads nowhere");
}

void CudaKernel::enqueue(const Launch& launch, const KernelArguments& arguments, CudaStream& stream,
                         std::optional<int> number) const {
  if (launch.call) {
    std::vector<std::byte*> addresses;
    for (const PointerPlace& pointer : launch.pointers)
      addresses.push_back(address(pointer.place, arguments, stream));
    return stream.enqueue([&](StreamHandle handle) { launch.call(addresses, handle); });
  }
  alignas(16) std::array<std::byte, kParameterBytes> parameters;
  std::memcpy(parameters.data(), launch.parameters.data(), launch.parameters.size());
  for (const PointerPlace& pointer : launch.pointers) {
    const std::byte* at = address(pointer.place, arguments, stream);
    std::memcpy(parameters.data() + pointer.at, &at, sizeof(at));
  }
  if (number) std::memcpy(parameters.data() + loop_.number_offset, &*number, sizeof(int));
  stream.launch(launch.program->function(), launch.grid, {parameters.data(), launch.parameters.size()}, name);
}

void CudaKernel::run(const KernelArguments& arguments) const {
  prepare();
  if (launches_.empty()) return;
  auto* stream = dynamic_cast<CudaStream*>(arguments.stream);
  if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
  const size_t loop_end = loop_.first + loop_.count;
  for (size_t i = 0; i < loop_.first; ++i) enqueue(launches_[i], arguments, *stream);
  for (int number = 0; number < loop_.times; ++number) {
    for (size_t i = loop_.first; i < loop_end; ++i) enqueue(launches_[i], arguments, *stream, number);
  }
  for (size_t i = loop_end; i < launches_.size(); ++i) enqueue(launches_[i], arguments, *stream);
}

NumericsContract blocked_contract(ElementType computed, ElementType stored) {
  return {.computed = computed,
          .accumulated = computed,
          .stored = stored,
          .order = NumericsContract::Order::kBlocked};
}

NumericsContract library_contract(ElementType stored, bool tf32) {
  NumericsContract contract = blocked_contract(ElementType::kFloat, stored);
  if (tf32) contract.operands = OperandFormat::tf32();
  return contract;
}

}  // namespace vernier::cuda
