#include "vernier/evaluate/table_file.h"

#include <nlohmann/json.hpp>

#include "vernier/backends/process/child_process.h"
#include "vernier/backends/process/onnxruntime.h"
#include "vernier/precision/json.h"

namespace vernier {

bool is_table_file(const std::filesystem::path& file) {
  return file.extension() == ".parquet";
}

TableFile::TableFile(const std::filesystem::path& file) {
  constexpr std::chrono::duration<double> kPatience{3600};
  constexpr size_t kLongestLine = size_t{1} << 16;
  ChildProcess process(fmt::format("exec {} {}", quoted_for_shell(find_python("")),
                                   quoted_for_shell(find_runner_script("table_reader.py").string())));
  const nlohmann::json request = {{"table", std::filesystem::absolute(file).string()},
                                  {"folder", folder_.path().string()}};
  const auto reply = process.exchange(request.dump(), kPatience, kLongestLine);
  if (reply.outcome != ChildProcess::Reply::Outcome::kLine)
    throw bad_input("reading it {}: {}", process.stop(), process.last_words()).in_file(file);
  const JsonValue answer = JsonValue::parse(reply.line);
  if (answer.find("missing") != nullptr)
    throw unsupported("Parquet needs the Python package pyarrow").in_file(file).advise("pip install pyarrow");
  if (const JsonValue* error = answer.find("error")) throw bad_input("{}", error->string()).in_file(file);
}

}  // namespace vernier
