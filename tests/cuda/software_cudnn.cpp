#include "cuda/software_cudnn.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "cuda/fake_driver.h"
#include "vernier/tensor/tensor.h"

namespace vernier::cuda {

namespace {

constexpr DnnStatus kBadParameter = 2000, kNotSupported = 3000;

struct Descriptor;
using Shared = std::shared_ptr<Descriptor>;

struct Attribute {
  int type = 0;
  std::vector<int64_t> numbers;
  std::vector<double> reals;
  std::vector<void*> pointers;
  std::vector<Shared> descriptors;  // which live on when they are destroyed
};

struct Descriptor {
  int kind = 0;
  bool finalized = false;
  std::map<int, Attribute> attributes;
  size_t way = 0;  // of engines and what is made of them
  Shared graph;
};

SoftwareCudnn library;
// Plans that were written as text, which is their number here.
std::vector<std::pair<size_t, Shared>> written;  // way and graph
std::map<DnnPointer, Shared> live;

const Attribute& attribute(const Descriptor& of, int name) {
  static const Attribute kNone;
  return of.attributes.contains(name) ? of.attributes.at(name) : kNone;
}

int64_t number(const Descriptor& of, int name) {
  return attribute(of, name).numbers.at(0);
}

const auto& numbers(const Descriptor& of, int name) {
  return attribute(of, name).numbers;
}

const Descriptor& part(const Descriptor& of, int name) {
  return *attribute(of, name).descriptors.at(0);
}

const SoftwareCudnn::Way& way_of(size_t index) {
  return index < library.ways.size() ? library.ways[index] : library.fallback.at(index - library.ways.size());
}

DnnStatus set(DnnPointer pointer, int name, int type, int64_t count, const void* values) {
  Descriptor& to = *live.at(pointer);
  if (to.finalized || count < 1) return kBadParameter;
  if (name == kDnnPlanJson) {
    const size_t which =
        std::stoul(std::string(static_cast<const char*>(values), static_cast<size_t>(count)));
    if (library.refuses_texts || which >= written.size()) return kNotSupported;
    std::tie(to.way, to.graph) = written[which];
    return kDnnSuccess;
  }
  Attribute set{type, {}, {}, {}, {}};
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    switch (type) {
      case kDnnOfInt64: set.numbers.push_back(static_cast<const int64_t*>(values)[i]); break;
      case kDnnOfBoolean: set.numbers.push_back(static_cast<const bool*>(values)[i] ? 1 : 0); break;
      case kDnnOfFloat: set.reals.push_back(static_cast<const float*>(values)[i]); break;
      case kDnnOfDouble: set.reals.push_back(static_cast<const double*>(values)[i]); break;
      case kDnnOfHandle:
      case kDnnOfPointer: set.pointers.push_back(static_cast<void* const*>(values)[i]); break;
      case kDnnOfDescriptor: {
        const auto found = live.find(static_cast<const DnnPointer*>(values)[i]);
        if (found == live.end() || !found->second->finalized) return kBadParameter;
        set.descriptors.push_back(found->second);
        break;
      }
      default: set.numbers.push_back(static_cast<const int*>(values)[i]);
    }
  }
  to.attributes[name] = std::move(set);
  return kDnnSuccess;
}

DnnStatus finalize(DnnPointer pointer) {
  Descriptor& made = *live.at(pointer);
  if (made.kind == kDnnTensor) {
    library.alignments.insert(number(made, kDnnTensorAlignment));
    if (numbers(made, kDnnTensorSizes).size() < 4 ||
        numbers(made, kDnnTensorSizes).size() != numbers(made, kDnnTensorSteps).size())
      return kBadParameter;
  }
  if (made.kind == kDnnHeuristics)
    library.modes.push_back(static_cast<int>(number(made, kDnnHeuristicsMode)));
  if (made.kind == kDnnPlan) {
    if (made.graph == nullptr) {
      const Descriptor& configuration = part(made, kDnnPlanConfiguration);
      made.way = configuration.way;
      made.graph = configuration.graph;
    }
    if (!way_of(made.way).plans) return kNotSupported;
    library.planned.push_back(made.way);
    library.operations.clear();
    for (const Shared& operation : attribute(*made.graph, kDnnGraphOperations).descriptors)
      library.operations.push_back(
          operation->kind == kDnnConvolutionForward
              ? kDnnConvolutionForward
              : static_cast<int>(number(part(*operation, kDnnOperationPointwise), kDnnPointwiseMode)));
  }
  made.finalized = true;
  return kDnnSuccess;
}

DnnStatus give_ways(const Descriptor& heuristics, int64_t most, int64_t* count, void* values) {
  const bool falls_back = number(heuristics, kDnnHeuristicsMode) == kDnnFallback;
  const size_t first = falls_back ? library.ways.size() : 0,
               there = falls_back ? library.fallback.size() : library.ways.size();
  *count = static_cast<int64_t>(there);
  for (size_t i = 0; i < std::min(there, static_cast<size_t>(most)); ++i) {
    Descriptor& configuration = *live.at(static_cast<DnnPointer*>(values)[i]);
    configuration.way = first + i;
    configuration.graph = attribute(heuristics, kDnnHeuristicsGraph).descriptors.at(0);
    configuration.finalized = true;
  }
  return kDnnSuccess;
}

DnnStatus give(const std::vector<int>& notes, int64_t most, int64_t* count, void* values) {
  *count = static_cast<int64_t>(notes.size());
  std::copy_n(notes.begin(), std::min(*count, most), static_cast<int*>(values));
  return kDnnSuccess;
}

DnnStatus write_plan(const Descriptor& plan, int64_t most, int64_t* count, void* values) {
  const auto at = std::find(written.begin(), written.end(), std::pair(plan.way, plan.graph));
  const std::string text = std::to_string(at - written.begin());
  if (at == written.end()) written.emplace_back(plan.way, plan.graph);
  *count = static_cast<int64_t>(text.size());
  std::copy_n(text.data(), std::min(*count, most), static_cast<char*>(values));
  return kDnnSuccess;
}

DnnStatus get(DnnPointer pointer, int name, int, int64_t most, int64_t* count, void* values) {
  const Descriptor& from = *live.at(pointer);
  switch (name) {
    case kDnnHeuristicsResults: return give_ways(from, most, count, values);
    case kDnnConfigurationEngine: live.at(*static_cast<DnnPointer*>(values))->way = from.way; break;
    case kDnnEngineNumericalNotes: return give(way_of(from.way).numerical, most, count, values);
    case kDnnEngineBehaviourNotes: return give(way_of(from.way).behaviour, most, count, values);
    case kDnnEngineNumber: *static_cast<int64_t*>(values) = static_cast<int64_t>(from.way); break;
    case kDnnPlanJson: return write_plan(from, most, count, values);
    case kDnnPlanWorkspace:
      *static_cast<int64_t*>(values) = static_cast<int64_t>(way_of(from.way).workspace);
      break;
    default: return kBadParameter;
  }
  *count = 1;
  return kDnnSuccess;
}

ElementType element_of(const Descriptor& tensor) {
  const int64_t type = number(tensor, kDnnTensorType);
  return type == kDnnFloat ? ElementType::kFloat
                           : (type == kDnnFloat16 ? ElementType::kFloat16 : ElementType::kBFloat16);
}

// The tensors of a run, by their numbers: those in memory, and virtual ones as numbers by index.
struct Run {
  std::map<int64_t, void*> memory;
  std::map<int64_t, std::vector<double>> between;

  // Elements of a tensor, its axes of one element standing for any index.
  static int64_t offset(const Descriptor& tensor, const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at += numbers(tensor, kDnnTensorSizes)[i] == 1 ? 0 : index[i] * numbers(tensor, kDnnTensorSteps)[i];
    return at;
  }
  double read(const Descriptor& tensor, const std::vector<int64_t>& index) {
    const int64_t id = number(tensor, kDnnTensorId), at = offset(tensor, index);
    if (between.contains(id)) return between.at(id).at(static_cast<size_t>(at));
    const ElementType element = element_of(tensor);
    return Tensor::borrow(element, {1},
                          static_cast<const std::byte*>(memory.at(id)) +
                              at * static_cast<int64_t>(element_size(element)),
                          nullptr)
        .to_doubles()[0];
  }
  void write(const Descriptor& tensor, const std::vector<int64_t>& index, double value) {
    const int64_t id = number(tensor, kDnnTensorId), at = offset(tensor, index);
    if (!attribute(tensor, kDnnTensorIsVirtual).numbers.empty()) {
      auto& values = between[id];
      values.resize(static_cast<size_t>(element_count(numbers(tensor, kDnnTensorSizes))));
      values.at(static_cast<size_t>(at)) = value;
      return;
    }
    const ElementType element = element_of(tensor);
    const Tensor rounded = Tensor::from_doubles(element, {1}, std::vector<double>{value});
    std::memcpy(static_cast<std::byte*>(memory.at(id)) + at * static_cast<int64_t>(element_size(element)),
                rounded.raw(), element_size(element));
  }
};

bool next(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

double sum_of(Run& run, const Descriptor& operation, const std::vector<int64_t>& y) {
  const Descriptor &x = part(operation, kDnnForwardX), &w = part(operation, kDnnForwardW),
                   &windows = part(operation, kDnnForwardConvolution);
  const auto &filter = numbers(w, kDnnTensorSizes), &image = numbers(x, kDnnTensorSizes);
  const int64_t groups = image[1] / filter[1],
                group = y[1] / (numbers(part(operation, kDnnForwardY), kDnnTensorSizes)[1] / groups);
  std::vector<int64_t> taps(filter.begin() + 1, filter.end());
  std::vector<int64_t> tap(taps.size(), 0);
  double sum = 0;
  do {
    std::vector<int64_t> from{y[0], group * filter[1] + tap[0]}, by{y[1], tap[0]};
    bool inside = true;
    for (size_t i = 1; i < tap.size(); ++i) {
      from.push_back(y[i + 1] * numbers(windows, kDnnStrides)[i - 1] +
                     tap[i] * numbers(windows, kDnnDilations)[i - 1] -
                     numbers(windows, kDnnPadsBegin)[i - 1]);
      by.push_back(tap[i]);
      inside = inside && from.back() >= 0 && from.back() < image[i + 1];
    }
    if (inside) sum += run.read(x, from) * run.read(w, by);
  } while (next(tap, taps));
  return sum;
}

double followed(Run& run, const Descriptor& operation, const std::vector<int64_t>& index) {
  const Descriptor& pointwise = part(operation, kDnnOperationPointwise);
  const double value = run.read(part(operation, kDnnOperationX), index);
  if (number(pointwise, kDnnPointwiseMode) == kDnnAdd)
    return value + run.read(part(operation, kDnnOperationB), index);
  const auto& upper = attribute(pointwise, kDnnReluUpper).reals;
  const bool keeps_nan = number(pointwise, kDnnPointwiseNan) == kDnnPropagateNan;
  if (std::isnan(value)) return keeps_nan ? value : 0;
  return std::min(std::max(value, 0.0), upper.empty() ? HUGE_VAL : upper[0]);
}

void compute(const Descriptor& made, Run run) {
  for (const Shared& operation : attribute(*made.graph, kDnnGraphOperations).descriptors) {
    const bool convolves = operation->kind == kDnnConvolutionForward;
    const Descriptor& y = part(*operation, convolves ? kDnnForwardY : kDnnOperationY);
    const auto& sizes = numbers(y, kDnnTensorSizes);
    std::vector<int64_t> index(sizes.size(), 0);
    do {
      double value = convolves ? sum_of(run, *operation, index) : followed(run, *operation, index);
      if (convolves && way_of(made.way).rounds_between) {
        const ElementType element = element_of(part(*operation, kDnnForwardX));
        value = Tensor::from_doubles(element, {1}, std::vector<double>{value}).to_doubles()[0];
      }
      run.write(y, index, value);
    } while (next(index, sizes));
  }
  ++library.runs;
}

DnnStatus execute(DnnHandle, DnnPointer plan, DnnPointer pack) {
  if (library.execute != kDnnSuccess) return library.execute;
  const Descriptor &made = *live.at(plan), &given = *live.at(pack);
  Run run;
  const auto& ids = numbers(given, kDnnPackIds);
  for (size_t i = 0; i < ids.size(); ++i)
    run.memory[ids[i]] = attribute(given, kDnnPackPointers).pointers.at(i);
  auto* workspace = attribute(given, kDnnPackWorkspace).pointers.at(0);
  const size_t bytes = way_of(made.way).workspace;
  if (bytes > 0) {
    library.aligned =
        library.aligned && workspace != nullptr && reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
    fake_driver().enqueue([workspace, bytes] { std::memset(workspace, 0x7f, bytes); });
  }
  fake_driver().enqueue([&made, run] { compute(made, run); });
  return kDnnSuccess;
}

}  // namespace

SoftwareCudnn& software_cudnn() {
  return library;
}

CudnnApi reset_software_cudnn(std::vector<SoftwareCudnn::Way> ways) {
  library = SoftwareCudnn();
  library.ways = std::move(ways);
  live.clear();
  CudnnApi api;
  api.version = [] { return size_t{91900}; };
  api.status_text = [](DnnStatus) { return "CUDNN_STATUS_NOT_SUPPORTED"; };
  api.last_error = [](char* text, size_t bytes) { std::strncpy(text, "because of a test", bytes); };
  api.create = [](DnnHandle* made) {
    ++library.handles;
    // Numbers; nothing lies there.
    return *made = reinterpret_cast<DnnHandle>(library.handles), library.create;
  };
  api.set_stream = [](DnnHandle handle, StreamHandle stream) {
    StreamHandle& before = library.streams[handle];
    library.switched = library.switched || (before != nullptr && stream != nullptr && before != stream);
    before = stream;
    return kDnnSuccess;
  };
  api.create_descriptor = [](int kind, DnnPointer* made) {
    auto created = std::make_shared<Descriptor>();
    created->kind = kind;
    *made = created.get();
    live[*made] = std::move(created);
    ++library.live;
    return kDnnSuccess;
  };
  api.destroy_descriptor = [](DnnPointer pointer) {
    library.live -= live.erase(pointer);
    return kDnnSuccess;
  };
  api.finalize = finalize;
  api.set = set;
  api.get = get;
  api.execute = execute;
  return api;
}

}  // namespace vernier::cuda
