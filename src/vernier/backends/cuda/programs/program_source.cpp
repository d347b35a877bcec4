#include "vernier/backends/cuda/programs/program_source.h"

#include "vernier/backends/cuda/programs/kernel_texts.h"
#include "vernier/base/error.h"
#include "vernier/base/hash.h"

namespace vernier::cuda {

std::string ProgramSource::text() const {
  std::string all = "#define run " + entry() + "\n";
  for (const char* name : {"parameters", "conversions", "prelude", "warp"}) all += kernel_text(name);
  return all + body;
}

std::string ProgramSource::payload_name() const {
  return "program " + hash_to_text(hash_text(text(), hash_text(name)));
}

ProgramSource kernel_source(const std::string& name, const Definitions& definitions,
                            const std::vector<std::string>& before) {
  std::string body;
  for (const auto& [defined, meaning] : definitions) body += "#define " + defined + " " + meaning + "\n";
  for (const std::string& text : before) body += kernel_text(text);
  return {name, body + std::string(kernel_text(name))};
}

std::string_view device_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return "f32";
    case ElementType::kDouble: return "f64";
    case ElementType::kFloat16: return "f16";
    case ElementType::kBFloat16: return "bf16";
    case ElementType::kBool: return "b8";
    case ElementType::kInt8: return "i8";
    case ElementType::kUint8: return "u8";
    case ElementType::kInt16: return "i16";
    case ElementType::kUint16: return "u16";
    case ElementType::kInt32: return "i32";
    case ElementType::kUint32: return "u32";
    case ElementType::kInt64: return "i64";
    case ElementType::kUint64: return "u64";
    default: return {};
  }
}

std::string_view storage_type(size_t bytes) {
  switch (bytes) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "u64";
    case 16: return "u128";
    default: return {};
  }
}

}  // namespace vernier::cuda
