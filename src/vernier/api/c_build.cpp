// Building by options, and what came of it, in the C interface.
#include <algorithm>
#include <charconv>

#include "vernier/api/c_calls.h"
#include "vernier/api/public_error.h"
#include "vernier/engine/named_options.h"

using vernier::api::require_pointers;
using vernier::api::status_of;
using namespace vernier::v1;

struct vernier_build_options {
  BuildOptions options;
};

namespace vernier::api {

LastError& last_error() noexcept {
  thread_local LastError last;
  return last;
}

TensorInfoOfC::TensorInfoOfC(const v1::TensorInfo& from) {
  for (const v1::Dimension& dimension : from.shape) {
    dims.push_back(dimension.size);
    symbols.push_back(dimension.symbol.c_str());
  }
  info = {from.name.c_str(),
          from.is_tensor ? static_cast<vernier_element_type>(from.type) : vernier_element_type{},
          from.has_default,
          from.has_rank,
          dims.size(),
          dims.data(),
          symbols.data()};
}

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& value) {
  throw v1::Error(v1::ErrorCode::kUsage, "the build option '" + name + "' cannot be '" + value + "'");
}

bool* find_flag(v1::BuildOptions& options, std::string_view name) {
  if (name == "exact_passes_only") return &options.exact_passes_only;
  if (name == "keep_defaults") return &options.keep_defaults;
  if (name == "verify") return &options.verify;
  return nullptr;
}

std::vector<std::string>* find_list(v1::BuildOptions& options, std::string_view name) {
  if (name == "disabled_passes") return &options.disabled_passes;
  if (name == "devices") return &options.devices;
  if (name == "allowed_tactics") return &options.allowed_tactics;
  if (name == "denied_tactics") return &options.denied_tactics;
  return nullptr;
}

template <class Number>
Number parse_number(const std::string& name, const std::string& value) {
  Number number{};
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end) refuse(name, value);
  return number;
}

// Sets one that the command line has, too, under a name with dashes. A value that is none is refused at once.
void set_named(v1::BuildOptions& options, std::string name, const std::string& value) {
  if (name == "constraints") name = "precision-constraints";
  std::replace(name.begin(), name.end(), '_', '-');
  const NamedOption* option = find_named_option(name);
  if (option != nullptr && option->is_flag() && value != "0" && value != "1") refuse(name, value);
  guarded([&] {
    vernier::BuildOptions tried;
    set_named_options({{name, value}}, tried);
  });
  options.named[name] = value;
}

void set(v1::BuildOptions& options, const std::string& name, const std::string& value) {
  if (bool* flag = find_flag(options, name)) {
    if (value != "0" && value != "1") refuse(name, value);
    *flag = value == "1";
  } else if (auto* list = find_list(options, name)) {
    list->push_back(value);
  } else if (name == "workspace") {
    options.workspace = parse_number<size_t>(name, value);
  } else if (name == "optimization_level") {
    options.optimization_level = parse_number<int>(name, value);
  } else if (name == "timing_cache") {
    options.timing_cache = value;
  } else if (name == "inject_fault") {
    options.inject_fault = value;
  } else {
    set_named(options, name, value);
  }
}

}  // namespace

}  // namespace vernier::api

vernier_engine::vernier_engine(Engine made) : engine(std::move(made)) {
  for (const TensorInfo& input : engine.inputs()) inputs.emplace_back(input);
  for (const TensorInfo& output : engine.outputs()) outputs.emplace_back(output);
  for (const std::string& reason : engine.report().reasons) reasons.push_back(reason.c_str());
  for (const std::string& note : engine.report().notes) notes.push_back(note.c_str());
}

extern "C" {

vernier_status vernier_build_options_create(vernier_build_options** options) {
  return status_of([&] {
    require_pointers(options);
    *options = new vernier_build_options;
  });
}

void vernier_build_options_release(vernier_build_options* options) {
  delete options;
}

vernier_status vernier_build_options_set(vernier_build_options* options, const char* name,
                                         const char* value) {
  return status_of([&] {
    require_pointers(options, name, value);
    vernier::api::set(options->options, name, value);
  });
}

vernier_status vernier_build_options_add_shapes(vernier_build_options* options, size_t profile,
                                                const char* input, size_t rank, const int64_t* min,
                                                const int64_t* opt, const int64_t* max) {
  return status_of([&] {
    require_pointers(options, input);
    if (rank > 0) require_pointers(opt);
    auto& profiles = options->options.profiles;
    if (profile > profiles.size())
      throw Error(ErrorCode::kUsage, "profiles are counted from 0, and none may be left out");
    if (profile == profiles.size()) profiles.emplace_back();
    const auto list = [&](const int64_t* sizes) {
      return sizes == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(sizes, sizes + rank);
    };
    profiles[profile].push_back({input, list(min), list(opt), list(max)});
  });
}

vernier_status vernier_engine_build_with(const char* path, const vernier_build_options* options,
                                         vernier_engine** engine) {
  return status_of([&] {
    require_pointers(path, options, engine);
    *engine = new vernier_engine(Engine::build(path, options->options));
  });
}

vernier_status vernier_engine_report(const vernier_engine* engine, vernier_build_report* report) {
  return status_of([&] {
    require_pointers(engine, report);
    const BuildReport& from = engine->engine.report();
    *report = {static_cast<vernier_verdict>(from.verdict),
               engine->reasons.data(),
               engine->reasons.size(),
               engine->notes.data(),
               engine->notes.size(),
               from.build_seconds,
               from.verdict_seconds};
  });
}

}  // extern "C"
