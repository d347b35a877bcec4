// Runs graphs for scripts/fuzz graphs, many in one process: graphs_driver [--threads N] [--isa LEVEL].
//
// Reads one JSON request a line from its standard input and answers each with one line. Before every stage it
// writes {"begin": STAGE}, so that whoever reads knows in which stage the process ended if it does. Values
// travel in safetensors files. A request:
//   {"model": FILE, "samples": [FILE, …], "outputs": PREFIX, "stages": ["reference", "noise", "untuned",
//   "tuned"],
//    "noise": COUNT, "taps": [VALUE, …], "level": 0…5, "profile": {INPUT: [[MIN, OPT, MAX], …]}, "fault":
//    FAULT}
// The answer maps each run to what came of it:
//   {"done": {"import": {}, "reference": {"files": [FILE, …]}, "tuned": {"error": {"code": 4, "message":
//   "…"}}}}
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/builder/builder.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/session.h"
#include "vernier/onnx/import.h"

namespace {

using namespace vernier;
using nlohmann::json;

constexpr size_t kLargestTensor = size_t{1} << 30;

void say(const json& line) {
  std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

struct Request {
  ImportedModel imported;
  std::vector<NamedData> samples;
  std::string prefix;  // of the files of outputs
  json fields;
};

NamedData run_reference_on(const Request& request, const NamedData& inputs, std::optional<uint64_t> noise) {
  const auto taps = request.fields.value("taps", std::set<std::string>());
  NamedData results;
  InterpreterOptions options;
  options.noise_seed = noise;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (taps.contains(value.name)) results[value.name] = datum;
  };
  const Model& model = request.imported.model;
  const ReferenceRun run = run_reference(model, inputs, options);
  for (size_t i = 0; i < run.outputs.size(); ++i) results[model.graph->outputs[i]->name] = run.outputs[i];
  return results;
}

// The one place that builds: the public entrance may change without a change elsewhere here.
BuiltEngine build_engine(const Request& request, int level, const std::shared_ptr<TimingCache>& cache) {
  BuildOptions options;
  options.tune.level = level;
  options.timing_cache = cache;
  const std::string fault = request.fields.value("fault", "");
  if (!fault.empty()) options.fault = parse_fault(fault, cpu::tactic_names());
  const Model& model = request.imported.model;
  if (level == 0) return Builder(model, options).build({}, Judge::kNever);
  if (request.fields.contains("profile")) {
    ShapeProfile profile;
    for (const auto& [name, sizes] : request.fields["profile"].items()) {
      for (const auto& range : sizes) profile.inputs[name].push_back({range[0], range[1], range[2]});
    }
    options.profiles = {profile};
  }
  std::vector<Sample> samples;
  for (const NamedData& inputs : request.samples) {
    samples.emplace_back();
    samples.back().origin = "given";
    samples.back().inputs = inputs;
  }
  return Builder(model, options).build(std::move(samples));
}

using RunOne = std::function<NamedData(const NamedData&, size_t)>;

// Writes what each sample gives.
json run_samples(const Request& request, const std::string& stage, const RunOne& run) {
  json files = json::array();
  for (size_t i = 0; i < request.samples.size(); ++i) {
    const std::string file = fmt::format("{}{}-{}.safetensors", request.prefix, stage, i);
    write_safetensors(file, run(request.samples[i], i));
    files.push_back(file);
  }
  return {{"files", files}};
}

json run_session(const Request& request, const std::string& stage,
                 const std::shared_ptr<const Engine>& engine) {
  Session session(engine);
  return run_samples(request, stage, [&](const NamedData& inputs, size_t) { return session.run(inputs); });
}

class Driver {
 public:
  json answer(const json& fields) {
    Request request;
    json done;
    attempt(done, "import", [&]() -> json {
      request.imported = import_model(fields.at("model").get<std::string>());
      for (const std::string file : fields.at("samples"))
        request.samples.push_back(SafetensorsFile::open(file).read_all());
      request.prefix = fields.at("outputs");
      request.fields = fields;
      return {{"notes", messages_of(request.imported.notes)}};
    });
    if (done["import"].contains("error")) return done;
    for (const std::string stage : fields.at("stages")) {
      if (stage == "reference") {
        attempt(done, stage, [&] {
          return run_samples(request, stage, [&](const NamedData& inputs, size_t) {
            return run_reference_on(request, inputs, std::nullopt);
          });
        });
      } else if (stage == "noise") {
        add_noise(done, request);
      } else if (stage == "untuned") {
        attempt(done, stage, [&] { return run_untuned(request); });
      } else {
        run_tuned(done, request);
      }
    }
    return done;
  }

 private:
  // Whatever is thrown becomes part of the answer.
  template <class Run>
  static void attempt(json& done, const std::string& stage, const Run& run) {
    say({{"begin", stage}});
    try {
      done[stage] = run();
    } catch (const Error& error) {
      done[stage] = {{"error", {{"code", static_cast<int>(error.code())}, {"message", error.what()}}}};
    } catch (const std::exception& error) {  // not even of the project's own type: a defect
      done[stage] = {{"error", {{"code", -1}, {"message", error.what()}}}};
    }
  }

  static void add_noise(json& done, const Request& request) {
    for (uint64_t seed = 1; seed <= request.fields.value("noise", uint64_t{2}); ++seed) {
      const std::string stage = fmt::format("noise{}", seed);
      attempt(done, stage, [&] {
        return run_samples(request, stage, [&](const NamedData& inputs, size_t) {
          return run_reference_on(request, inputs, seed);
        });
      });
    }
  }

  json run_untuned(const Request& request) {
    const auto engine = build_engine(request, 0, cache_).engine;
    json result = run_session(request, "untuned", engine);
    if (const auto fault = engine->fault()) result["fault"] = fault_text(*fault);
    return result;
  }

  void run_tuned(json& done, const Request& request) {
    BuiltEngine built;
    std::shared_ptr<const Engine> loaded;
    const std::string file = request.prefix + "engine";
    attempt(done, "build", [&]() -> json {
      built = build_engine(request, request.fields.value("level", 2), cache_);
      const Certificate& certificate = built.certificate.value();
      return {{"verdict", verdict_name(certificate.verdict)},
              {"reasons", certificate.reasons},
              {"notes", built.notes}};
    });
    if (built.engine == nullptr) return;
    attempt(done, "save", [&]() -> json {
      SaveOptions save;
      save.model_name = "model.onnx";
      save_engine(*built.engine, file, save);
      built.engine.reset();
      return json::object();
    });
    if (done["save"].contains("error")) return;
    attempt(done, "load", [&]() -> json {
      loaded = load_engine(file).engine;
      return json::object();
    });
    if (loaded) attempt(done, "tuned", [&] { return run_session(request, "tuned", loaded); });
  }

  std::shared_ptr<TimingCache> cache_ = std::make_shared<TimingCache>(timing_device());
};

// The threads; the level of instructions is limited at once. Throws usage_error.
int read_options(int argc, char** argv) {
  int threads = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--threads")
      threads = std::max(1, std::atoi(argv[i + 1]));
    else if (option == "--isa")
      cpu::limit_isa(cpu::parse_isa_level(argv[i + 1]));
    else
      throw usage_error("no option {}", option);
  }
  return threads;
}

int answer_requests() {
  Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    const json fields = json::parse(line, nullptr, false);
    if (!fields.is_object()) {
      std::cerr << "graphs_driver: a request is no JSON object\n";
      return 2;
    }
    json done = driver.answer(fields);
    say({{"done", std::move(done)}});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  set_allocation_limit(kLargestTensor);
  try {
    const ThreadLimit threads(read_options(argc, argv));
    return answer_requests();
  } catch (const Error& error) {
    std::cerr << "graphs_driver: " << error.what() << "\n";
    return 2;
  }
}
