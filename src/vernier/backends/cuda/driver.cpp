#include "vernier/backends/cuda/driver.h"

#include <charconv>

#include "vernier/backends/cuda/contractions/weight_order.h"
#include "vernier/backends/cuda/cublaslt/lt_product.h"
#include "vernier/backends/cuda/cuda_backend.h"
#include "vernier/backends/cuda/normalization/normalize_rows.h"
#include "vernier/backends/cuda/pointwise/layouts.h"

namespace vernier::cuda {

namespace {

// Libraries are opened once, with the options that come first: a process cannot have two of one name. Neither
// they nor GPUs are ever given up, since threads of the driver outlive main().
const Libraries& libraries_of(const SearchOptions& search) {
  static const auto* all = new Libraries(open_libraries(search));
  return *all;
}

Gpu& gpu_of(const CudaOptions& options) {
  static std::mutex mutex;
  static auto* gpus = new std::map<int, std::unique_ptr<Gpu>>();
  const std::lock_guard lock(mutex);
  const Libraries& libraries = libraries_of(options.search);
  libraries.require();
  auto& gpu = (*gpus)[options.ordinal];
  if (!gpu) gpu = std::make_unique<Gpu>(libraries, options.ordinal);
  return *gpu;
}

bool can_follow(const Node& anchor, const Node& next, const Value& chain) {
  return can_follow_product(anchor, next, chain) || can_follow_convolution(anchor, next, chain);
}

class CudaDriver : public Driver {
 public:
  explicit CudaDriver(CudaOptions options) : options_(std::move(options)), gpu_(gpu_of(options_)) {}

  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override {
    return fmt::format("{}, {}", gpu_.compiler.architecture(), gpu_.context.facts().name);
  }
  std::string library_versions() const override {
    Libraries used = libraries_of(options_.search);
    if (options_.lacks.contains(kCublasLt)) used.cublaslt = nullptr;
    if (options_.lacks.contains(kCudnn)) used.cudnn = nullptr;
    return used.versions();
  }
  bool computes_bf16() const override { return true; }
  bool computes_tf32() const override { return true; }
  GroupTraits group_traits() const override {
    return {.computes_groups = true,
            .is_pointwise = is_pointwise,
            .ends_chain = normalizes_rows,
            .can_follow = can_follow,
            .unfolds_patches = true};
  }
  const std::set<std::string>& tactic_names() const override { return tactics_; }
  std::set<std::string> approximate_tactics() const override { return {}; }
  std::string number() const override { return std::to_string(options_.ordinal); }
  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> all = {{"number", number()}};
    if (!options_.captures) all["no-capture"] = "";
    if (!options_.lacks.empty()) all["lacks"] = fmt::format("{}", fmt::join(options_.lacks, ","));
    return all;
  }
  bool is_faulty() const override { return options_.fault.has_value(); }
  bool holds(const std::string& form) const override { return holds_weights(form); }
  std::optional<Tensor> unpack(const std::string& form, std::span<const std::byte> packed,
                               ElementType element, const Dims& dims) const override {
    return unpack_weights(form, packed, element, dims);
  }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    return std::make_unique<CudaBackend>(gpu_, options_, fault);
  }

 private:
  CudaOptions options_;
  Gpu& gpu_;
  std::string name_ = kName;
  std::set<std::string> tactics_;
};

// These faults can be injected into its streams.
const std::set<DeviceFault::Kind> kDeviceFaults = {DeviceFault::Kind::kDropWait, DeviceFault::Kind::kDropCopy,
                                                   DeviceFault::Kind::kStaleReplay};

std::shared_ptr<const Driver> make(const std::map<std::string, std::string>& options) {
  CudaOptions parsed;
  for (const auto& [name, value] : options) {
    if (name == "number") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed.ordinal);
      if (error != std::errc() || end != value.data() + value.size() || parsed.ordinal < 0)
        throw usage_error("'{}' is no number of a GPU", value).advise("count from 0: --cuda=1 is the second");
    } else if (name == "lacks") {
      std::istringstream list(value);
      for (std::string op; std::getline(list, op, ',');) parsed.lacks.insert(op);
    } else if (name == "no-capture") {
      parsed.captures = false;
    } else if (name == "cuda-path") {
      parsed.search.cuda_path = value;
    } else if (name == "inject-fault") {
      parsed.fault = parse_device_fault(value, kDeviceFaults);
    } else {
      throw usage_error("the CUDA backend has no option '{}'", name);
    }
  }
  return make_driver(parsed);
}

}  // namespace

std::shared_ptr<const Driver> make_driver(const CudaOptions& options) {
  return std::make_shared<CudaDriver>(options);
}

const AcceleratorKind& accelerator_kind() {
  static const AcceleratorKind kind{
      kName,
      "GPU",
      "a GPU of NVIDIA",
      {{"cuda-path", "FOLDER",
        "where the libraries of CUDA are looked for first: a toolkit, or a folder of Python packages (then: "
        "those of the first python3 or of VERNIER_PYTHON, CUDA_PATH, /usr/local/cuda, the system's)"},
       {"lacks", "OPERATOR,…",
        "what is left to the CPU though the GPU could compute it; cuBLASLt, cuDNN: their products and "
        "convolutions are left to kernels of Vernier"},
       {"no-capture", "", "enqueues each step at each run, and replays nothing"},
       {"inject-fault", "drop-wait:K|drop-copy:K|stale-replay:K",
        "its K-th wait or copy, from 0, is left out, or its K-th replay is an old one; see "
        "docs/fault-injection.md"}},
      make};
  return kind;
}

}  // namespace vernier::cuda
