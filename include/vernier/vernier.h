// Vernier's C++ interface: build an engine from an ONNX model once, run it from any number of sessions.
//
//   vernier::Engine engine = vernier::Engine::build("model.onnx");
//   vernier::Session session(engine);
//   session.bind_input("image", pixels, {1, 3, 224, 224});  // `pixels` is not copied
//   vernier::Outputs outputs = session.run();
//   std::span<const float> scores = outputs["scores"].values<float>();
//
// Tensors are dense and row-major, as ONNX has them; sizes are counted in elements. An element of a type
// narrower than a byte takes one byte; a string is a std::string. Everything that fails throws
// vernier::Error, and leaves engine and session usable. docs/api.md is the guide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vernier/build.h"
#include "vernier/element_type.h"

#define VERNIER_API [[gnu::visibility("default")]]

namespace vernier::api {  // what the types below hold; not for applications
struct DeviceMemoryState;
struct EngineState;
struct ErrorState;
struct OutputsState;
struct PendingRun;
class SessionState;
}  // namespace vernier::api

namespace vernier::v1 {

enum class ErrorCode : uint8_t {
  kUsage = 2,        // the interface is used in a way that it does not offer
  kBadInput = 3,     // a model or tensor is damaged or inconsistent
  kUnsupported = 4,  // valid, but this build cannot do it
  kInternal = 5,     // a defect of Vernier
  kOutOfMemory = 6,  // there is no memory
  kCancelled = 7,    // Session::cancel() ended the run
  kBusy = 8,         // the session has a run under way
  kNotReady = 9,     // the C interface only: outputs are read before they are there
};

class VERNIER_API Error : public std::exception {
 public:
  Error(ErrorCode code, const std::string& message);
  explicit Error(ErrorCode code) noexcept;  // allocates nothing
  Error(const Error&) noexcept;
  Error& operator=(const Error&) noexcept;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override;  // file, node, what is wrong, and what to do next
  const char* file() const noexcept;           // the file that it is about, or ""
  const char* node() const noexcept;           // the ONNX node that it is about, or ""
  const char* advice() const noexcept;         // what to do next alone, or ""

 private:
  friend struct api::ErrorState;
  ErrorCode code_;
  std::shared_ptr<const api::ErrorState> state_;
};

// One dimension of a declared shape.
struct Dimension {
  int64_t size = -1;   // elements; -1: known only when running
  std::string symbol;  // then its name in the model, or the expression that gives it, e.g. "batch"
};

// Describes an input or output of a model.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::kFloat;
  bool is_tensor = true;     // false: a sequence, optional or map, which this interface does not carry
  bool has_rank = true;      // false: any shape, and `shape` is empty
  bool has_default = false;  // an input that may be left out
  std::vector<Dimension> shape;
};

// A tensor in memory that somebody else owns; see where it comes from for how long.
class VERNIER_API TensorView {
 public:
  TensorView(ElementType type, std::span<const int64_t> dims, const void* data,
             const char* device = "cpu") noexcept
      : type_(type), dims_(dims), data_(data), device_(device) {}

  ElementType type() const noexcept { return type_; }
  std::span<const int64_t> dims() const noexcept { return dims_; }
  const void* data() const noexcept { return data_; }
  const char* device() const noexcept { return device_; }  // whose memory it is: "cpu", "cuda:0"
  size_t size() const noexcept;                            // elements
  // Throws kUsage if the elements are no T, or lie on another device than the CPU.
  template <class T>
  std::span<const T> values() const {
    require(kElementTypeOf<T>);
    return {static_cast<const T*>(data_), size()};
  }

 private:
  void require(ElementType type) const;

  ElementType type_;
  std::span<const int64_t> dims_;
  const void* data_;
  const char* device_;
};

// A model made ready to run. Immutable and thread-safe; copies share one engine, which lives as long as any
// of them, or any session of it, does.
class VERNIER_API Engine {
 public:
  // Throws kBadInput for a damaged or inconsistent model, kUnsupported for an operator or version that is not
  // known, for types that cannot be obeyed and for too little working memory, kUsage for options that are
  // none, kOutOfMemory; with file and node. An engine whose verdict is not a pass is given all the same: look
  // at its report().
  static Engine build(const std::filesystem::path& model, const BuildOptions& options = {});
  // From the bytes of an ONNX file; external data are looked for in `folder`.
  static Engine build(std::span<const std::byte> model, const std::filesystem::path& folder = {},
                      const BuildOptions& options = {});
  // From the file that `vernier build` wrote: it is mapped, and nothing is built. Throws kBadInput for a file
  // that is damaged or no engine, kUnsupported for one of another processor, of other libraries, or without
  // weights. The file must not be written to later: sessions and runs throw kBadInput then. It may be
  // deleted, or replaced by renaming another.
  static Engine load(const std::filesystem::path& engine);

  // In the order of the model; valid as long as this engine.
  std::span<const TensorInfo> inputs() const noexcept;
  std::span<const TensorInfo> outputs() const noexcept;
  // How it was built, and whether it computes what it promises; of a loaded engine as its file says. Valid as
  // long as this engine.
  const BuildReport& report() const noexcept;

 private:
  friend class DeviceMemory;
  friend class Session;
  explicit Engine(std::shared_ptr<const api::EngineState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const api::EngineState> state_;
};

// The outputs of a run that has ended. Copies share them; those that were bound lie in the caller's memory,
// the others live as long as any copy.
class VERNIER_API Outputs {
 public:
  size_t size() const noexcept;
  // By name, or in the order of the model. Valid as long as any copy of this. Throws kUsage for what is no
  // output, kUnsupported for an output that is no tensor.
  TensorView operator[](std::string_view name) const&;
  TensorView operator[](std::string_view name) const&& = delete;  // the view would dangle
  TensorView at(size_t index) const&;
  TensorView at(size_t index) const&& = delete;

 private:
  friend class Session;
  friend class Event;
  explicit Outputs(std::shared_ptr<const api::OutputsState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const api::OutputsState> state_;
};

// A run under way. There is no way to its outputs but wait(). Destroying an event waits, and drops the
// outputs.
class [[nodiscard]] VERNIER_API Event {
 public:
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;
  ~Event();

  // True when wait() will not block.
  bool ready() const noexcept;
  // Once. Throws what the run threw; kUsage when called again, or after a move.
  Outputs wait();

 private:
  friend class Session;
  explicit Event(std::shared_ptr<api::PendingRun> run) noexcept;
  std::shared_ptr<api::PendingRun> run_;
};

struct SessionOptions {
  // Threads that one run uses, the caller's included; 0: all that OMP_NUM_THREADS or the machine offer.
  int threads = 0;
};

// One step of a run.
struct LayerTime {
  std::string kernel;              // "onednn:brgconv:avx512_core"; "reference: …" with the reason
  std::vector<std::string> nodes;  // the ONNX nodes that it computes; none for a change of layout
  double milliseconds = 0;         // median of the runs
  bool is_fallback = false;        // computed by the reference, slowly; or a part of its region is
};

// Runs an engine in memory of its own. Sessions of one engine run at the same time; one session has one run
// at a time, and its functions, but for cancel(), are not to be called by two threads at once.
//
// Bound memory is the caller's: it must stay valid until it is bound again, unbound, or the session
// destroyed, and may be changed between runs. Destroying a session waits for its run.
class VERNIER_API Session {
 public:
  explicit Session(const Engine& engine, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The memory that runs read an input from, of so many sizes as `dims` says. Throws kBadInput for an unknown
  // name, another type or sizes that the model does not take, memory that is not aligned to its elements or
  // overlaps that of an output; kUnsupported for `byte_strides` (bytes from one index to the next, for each
  // dimension) other than those of a dense tensor; kBusy.
  // Memory of a GPU is bound where it lies, whoever in the process allocated it (DeviceMemory, torch):
  // `device` is the engine's that has it, "cuda:0", as BuildOptions::devices names it. It is aligned to 16
  // bytes.
  void bind_input(std::string_view name, ElementType type, const std::vector<int64_t>& dims, const void* data,
                  std::span<const int64_t> byte_strides = {}, std::string_view device = "cpu");
  // The memory that runs write an output to. What is not bound goes to memory of the library's, as must
  // outputs of strings. Throws as bind_input; a run whose output has other sizes throws kBadInput.
  void bind_output(std::string_view name, ElementType type, const std::vector<int64_t>& dims, void* data,
                   std::span<const int64_t> byte_strides = {}, std::string_view device = "cpu");
  // The same for what std::data and std::size take: a vector, span or array that outlives the runs.
  template <class Values>
  void bind_input(std::string_view name, Values&& values, const std::vector<int64_t>& dims) {
    using Element = std::remove_cvref_t<decltype(*std::data(values))>;
    static_assert(outlives<Values, Element>(),
                  "the session reads this memory later: a temporary is gone by then");
    require_size(name, std::size(values), dims);
    bind_input(name, kElementTypeOf<Element>, dims, std::data(values));
  }
  template <class Values>
  void bind_output(std::string_view name, Values&& values, const std::vector<int64_t>& dims) {
    using Element = std::remove_cvref_t<decltype(*std::data(values))>;
    static_assert(outlives<Values, Element>(),
                  "the session writes this memory later: a temporary is gone by then");
    require_size(name, std::size(values), dims);
    bind_output(name, kElementTypeOf<Element>, dims, std::data(values));
  }
  // Lets the output `present` lie in the memory of the input `past`, as the keys and values of a decoder do
  // from token to token: memory of `dims` [..., capacity, size], of which the first `rows` of each [...] are
  // the past of the next run. Where the model puts new rows behind the past (Concat, attention that takes a
  // past), these alone are written; else all of the present is copied there. What a run that ended well
  // leaves is the past of the next. Outputs do not hold `present`: reading it throws kUsage. Throws as
  // bind_input; a run throws kBadInput if the present has more rows than there is capacity for. Binding or
  // unbinding either of the two ends it.
  void bind_cache(std::string_view past, std::string_view present, ElementType type,
                  const std::vector<int64_t>& dims, void* data, int64_t rows = 0,
                  std::string_view device = "cpu");
  // The same in memory of the session's for `dims` [..., capacity, size], which lies where the engine
  // computes: on its GPU if it has one, and stays there, so that no rows are copied from run to run. The past
  // begins without rows. Throws as bind_cache, and kOutOfMemory.
  void keep_cache(std::string_view past, std::string_view present, ElementType type,
                  const std::vector<int64_t>& dims);
  // Copies the rows that the past has to `data`, as a dense tensor [..., rows, size] of exactly so many
  // bytes, from memory of the session's or the caller's. Throws kBadInput for another size, or if it is bound
  // to no cache; kBusy.
  void read_cache(std::string_view past, void* data, size_t bytes) const;
  // How many rows the past has; kBadInput if it is bound to no cache, kBusy.
  int64_t cache_rows(std::string_view past) const;
  // To go back to fewer, or to 0 for another text; also for rows that the caller has written.
  void set_cache_rows(std::string_view past, int64_t rows);
  // Forgets the memory of an input or output; unknown names throw kBadInput.
  void unbind(std::string_view name);

  // From now on runs are in the order of a queue of the caller's on a device, a CUstream (cudaStream_t; null
  // is the default stream): a run begins after what is enqueued there, and what is enqueued there later
  // begins after the run. Where all inputs and outputs lie on that device, and all nodes run there, run()
  // only enqueues: what it writes is there in the order of the queue, and what goes wrong later is thrown by
  // synchronize(), or by a later run. The queue lives until leave_stream(), or as long as the session. Throws
  // kUsage for a device that the engine does not have, kUnsupported for one without such queues, kBusy.
  void use_stream(std::string_view device, void* stream);
  void leave_stream();  // waits as synchronize() does
  // Waits for runs that were only enqueued, and throws what went wrong in them.
  void synchronize();

  // Runs with what is bound, and returns when the outputs are there. Throws kBadInput for an input that is
  // not bound and has no default, and for sizes that do not fit each other, kCancelled, kBusy.
  Outputs run();
  // Starts a run in a thread of the session. Until the event was waited for or destroyed the session is busy,
  // and what is bound to it must be left alone. Throws as run() does for what is wrong before it starts.
  Event run_async();
  // Ends the run under way, if there is one, before its next step; it throws kCancelled. From any thread.
  void cancel() noexcept;

  // Runs a few times with the clock read at every step; steps in the order of execution.
  std::vector<LayerTime> profile(int runs = 10);
  // Working memory that the session holds, in bytes; weights belong to the engine.
  size_t memory_bytes() const;

 private:
  template <class Values, class Element>
  static constexpr bool outlives() {
    using Given = std::remove_cvref_t<Values>;
    return std::is_lvalue_reference_v<Values> || std::is_same_v<Given, std::span<Element>> ||
           std::is_same_v<Given, std::span<const Element>>;
  }
  static void require_size(std::string_view name, size_t given, const std::vector<int64_t>& dims);

  std::unique_ptr<api::SessionState> state_;
};

// From now on all engines of this process work with threads of the application's instead of threads of their
// own: `submit` has a task called once, in any thread, soon, late, or never; nobody waits for one that has
// not begun. It is called with up to SessionOptions::threads - 1 tasks for each parallel step, by any thread,
// and must not wait for them. An empty function: threads of Vernier's own again. No session has a run under
// way meanwhile. What a thread of a pool submits to that pool must not deadlock it.
VERNIER_API void use_executor(std::function<void(std::function<void()> task)> submit);

// From now on the calling thread, and all threads that it and Vernier make, run on these cores alone, by the
// numbers of the system, and each of Vernier's own threads on one of them; SessionOptions::threads of 0 are
// as many. To be called before the first engine is built or loaded: threads that are there stay where they
// are. Throws kUnsupported for a core that the process may not use.
VERNIER_API void use_cores(std::span<const int> cores);

// "0.1.0"
VERNIER_API const char* version() noexcept;

}  // namespace vernier::v1

#ifndef VERNIER_INSIDE  // within the library these names have other meanings
namespace vernier {
using namespace v1;
}
#endif
