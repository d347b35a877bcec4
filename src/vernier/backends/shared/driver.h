// A driver says what a machine offers of one kind of device, before any engine is built for it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "vernier/backends/shared/faults/fault.h"
#include "vernier/exec/backend.h"

namespace vernier {

// Which groups of nodes suit the kernels of a backend.
struct GroupTraits {
  bool computes_groups = false;
  bool attends_int8 = false;                           // attention of quantized models as one
  std::function<bool(const Node&)> is_pointwise = {};  // what chains of pointwise operators are made of
  std::function<bool(const Node&)> ends_chain = {};    // what may come last in such a chain, beside these
  // Whether `next`, which reads `chain`, can be computed by the kernel of `anchor` before it stores.
  std::function<bool(const Node& anchor, const Node& next, const Value& chain)> can_follow = {};
  bool joins_depthwise = false;  // convolutions of single pixels and of single channels behind them
  bool unfolds_patches = false;  // convolutions of windows side by side are products
};

// Kernels, and what is wrong with them on purpose.
class FaultableBackend : public Backend {
 public:
  // The fault and where it is; nothing if none was wanted. Throws usage_error if it applied to no node so
  // far.
  virtual std::optional<FaultSpec> applied_fault() const = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;
  // As options and engine files call the device: "cpu", "simulated".
  virtual const std::string& name() const = 0;
  // Follows the name where a machine has several: "1" of "cuda:1".
  virtual std::string number() const { return "0"; }
  // Kernels depend on these two besides the model: an engine runs where both are the same.
  virtual std::string instruction_sets() const = 0;
  virtual std::string library_versions() const = 0;
  // Both, behind the name: "cuda (sm_90a, NVIDIA H200; driver 13.0, …)".
  std::string fingerprint() const {
    return fmt::format("{} ({}; {})", name(), instruction_sets(), library_versions());
  }
  // Whether the machine has instructions for products of bfloat16.
  virtual bool computes_bf16() const = 0;
  // Whether its kernels round factors of floats to TF32 where they may.
  virtual bool computes_tf32() const { return false; }
  virtual GroupTraits group_traits() const = 0;
  // All tactics, whatever the machine has: what may be named to be used alone or not at all.
  virtual const std::set<std::string>& tactic_names() const = 0;
  // Tactics that compute another function, within a bound: what `--forbid approximate` forbids.
  virtual std::set<std::string> approximate_tactics() const = 0;
  // Whether a form that kernels packed a constant into (PackedConstants) holds every bit of it, so that
  // unpack() gives it.
  virtual bool holds(const std::string& /*form*/) const { return false; }
  // The constant from such a form. Nothing if it does not hold all of it.
  virtual std::optional<Tensor> unpack(const std::string& /*form*/, std::span<const std::byte> /*packed*/,
                                       ElementType /*element*/, const Dims& /*dims*/) const {
    return std::nullopt;
  }
  // Gives the options that it was made with, by name: a driver of this name that is made with the same makes
  // the same kernels.
  virtual std::map<std::string, std::string> options() const { return {}; }
  // Whether something is to go wrong on its devices themselves, on purpose.
  virtual bool is_faulty() const { return false; }
  // `fault`: what is to go wrong on purpose, to see that it is found.
  virtual std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault = {}) const = 0;
};

// A kind of accelerator, by which the command line, C++ and engine files find its driver.
struct AcceleratorKind {
  struct Option {
    const char* name;   // "lacks"
    const char* value;  // what --help calls its value, "OPERATOR,…"; "": a flag
    const char* help;
  };
  const char* name;    // Driver::name
  const char* number;  // what Driver::number counts: "GPU"
  const char* device;  // "a GPU of NVIDIA"
  std::vector<Option> options;
  // `options` are named as above, or "number", or as Driver::options names them. Throws usage_error for
  // others and for values that are none, unsupported where a library or the device is missing.
  std::shared_ptr<const Driver> (*make)(const std::map<std::string, std::string>& options);
};

}  // namespace vernier
