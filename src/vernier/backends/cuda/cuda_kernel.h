// Every kernel of the CUDA backend is a list of launches of programs.
#pragma once

#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/backends/cuda/programs/program_store.h"
#include "vernier/exec/backend.h"

namespace vernier::cuda {

// Made without a GPU. It runs when a device has taken it (install).
class CudaKernel : public Kernel {
 public:
  // Says what a pointer of a launch's parameters leads to.
  struct Place {
    enum class Kind : uint8_t { kInput, kOutput, kScratch, kConstant, kFaults };
    Kind kind = Kind::kInput;
    size_t index = 0;   // of the input, output or constant
    size_t offset = 0;  // in bytes
  };

  CudaKernel(const KernelRequest& request, std::string_view what);
  // Makes a kernel of no node, with so many inputs.
  CudaKernel(size_t inputs, std::string_view what);

  static Place input(size_t index, size_t offset = 0) { return {Place::Kind::kInput, index, offset}; }
  static Place output(size_t index = 0, size_t offset = 0) { return {Place::Kind::kOutput, index, offset}; }
  static Place scratch(size_t offset = 0) { return {Place::Kind::kScratch, 0, offset}; }
  // Content of the kernel's own, or of the engine, which lies on the device as long as a kernel that has it.
  Place constant(std::vector<std::byte> content);
  Place constant(std::shared_ptr<const PackedForm> content);
  template <class T>
  Place constant(const std::vector<T>& values) {
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    return constant(std::vector<std::byte>(begin, begin + values.size() * sizeof(T)));
  }

  // A launch: `parameters` is a plain struct of kernels/parameters.h, and `pointers` says, member by member,
  // where its pointers lead.
  template <class Parameters>
  void launch(ProgramSource source, const Grid& grid, const Parameters& parameters,
              const std::vector<std::pair<const void * Parameters::*, Place>>& reads,
              const std::vector<std::pair<void * Parameters::*, Place>>& writes) {
    static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= kParameterBytes);
    const auto* bytes = reinterpret_cast<const std::byte*>(&parameters);
    Launch launch{
        std::move(source), nullptr, grid, std::vector<std::byte>(bytes, bytes + sizeof(Parameters)), {}, {}};
    const auto offset = [&](auto member) {
      return static_cast<size_t>(reinterpret_cast<const std::byte*>(&(parameters.*member)) - bytes);
    };
    for (const auto& [member, place] : reads) add_pointer(launch, offset(member), place);
    for (const auto& [member, place] : writes) add_pointer(launch, offset(member), place);
    launches_.push_back(std::move(launch));
  }
  // Adds a pointer in an array, by its offset in the parameters.
  void add_pointer(size_t offset, const Place& place) { add_pointer(launches_.back(), offset, place); }

  // Runs the last `launches` so often, all of them each time; an int at the offset in the parameters of each
  // says how often they ran before. No launches but these are repeated.
  void repeat(size_t launches, int64_t times, size_t number_offset);

  // Enqueues a library's work between launches, given where the places lead.
  using Call = std::function<void(const std::vector<std::byte*>& addresses, StreamHandle stream)>;
  void call(const std::vector<Place>& places, Call enqueue);
  // Working memory of the kernel beside what it has already; 256-byte aligned where that begins so.
  Place more_scratch(size_t bytes);
  Place more_scratch(int64_t elements, ElementType type) {
    return more_scratch(static_cast<size_t>(elements) * element_size(type));
  }

  // The kernel reports data that the operator has no value for, by `number` and `word` of the last launch's
  // parameters.
  void report_faults(size_t word_offset, size_t number_offset, const std::string& what);

  // Defines a name in the programs of all launches so far.
  void define(const std::string& name, const std::string& meaning);

  // Notes what a kernel that enqueues on its own reads.
  void note(const Place& place);

  // The device that it is to run on, and its programs; both outlive this.
  void install(CudaDevice& device, ProgramStore& programs);
  std::vector<ProgramSource> sources() const;
  std::vector<Grid> grids() const;

  void run(const KernelArguments& arguments) const override;
  bool reads(size_t input) const override { return input < reads_.size() && reads_[input]; }
  // Compiles, and copies constants.
  void prepare() const override;
  void add_payloads(Payloads& to) const override;
  bool is_prepared() const override { return prepared_; }

 protected:
  std::byte* address(const Place& place, const KernelArguments& arguments, const CudaStream& stream) const;

 private:
  static constexpr size_t kParameterBytes = 4000;
  struct PointerPlace {
    size_t at;  // in the parameters
    Place place;
  };
  struct Launch {
    ProgramSource source;
    std::shared_ptr<Program> program;
    Grid grid;
    std::vector<std::byte> parameters;
    std::vector<PointerPlace> pointers;
    Call call = {};  // instead of a program, on the pointers in their order
  };
  struct Loop {
    size_t first, count;  // launches
    int times;
    size_t number_offset;
  };
  struct Report {
    size_t launch, number_offset;
    std::string what;
  };

  void add_pointer(Launch& launch, size_t at, const Place& place);
  // With `number` at the offset of the loop, if it is given.
  void enqueue(const Launch& launch, const KernelArguments& arguments, CudaStream& stream,
               std::optional<int> number = {}) const;

  std::string node_;
  std::vector<Launch> launches_;
  std::vector<std::shared_ptr<const PackedForm>> contents_;  // of constants
  Loop loop_{};
  std::vector<Report> reports_;
  std::vector<bool> reads_;
  CudaDevice* device_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> prepared_ = false;
  mutable std::vector<std::shared_ptr<const Buffer>> constants_;
};

// Sums in `computed`, in no order that the model gives, of results stored as `stored`.
NumericsContract blocked_contract(ElementType computed, ElementType stored);
// The same of products by libraries: in float, of factors that matrix units round to TF32, or as they lie.
NumericsContract library_contract(ElementType stored, bool tf32);

}  // namespace vernier::cuda
