// Engine files with accelerators: the same devices, steps and bits come back, or the file is refused.
#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/compile/compiler.h"
#include "vernier/exec/probing/observer.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The simulated accelerator, under a name and with properties of its own.
class OtherDriver : public Driver {
 public:
  explicit OtherDriver(std::string name, std::string libraries = "the reference")
      : name_(std::move(name)), libraries_(std::move(libraries)), like_(simulated::make_driver()) {}
  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override { return like_->instruction_sets(); }
  std::string library_versions() const override { return libraries_; }
  bool computes_bf16() const override { return like_->computes_bf16(); }
  GroupTraits group_traits() const override { return like_->group_traits(); }
  const std::set<std::string>& tactic_names() const override { return like_->tactic_names(); }
  std::set<std::string> approximate_tactics() const override { return {}; }
  std::map<std::string, std::string> options() const override { return like_->options(); }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    return like_->make(fault);
  }

 private:
  std::string name_, libraries_;
  std::shared_ptr<const Driver> like_;
};

std::shared_ptr<const Engine> engine_on(std::shared_ptr<const Driver> driver, int64_t size = 2) {
  BuildOptions options = untuned();
  options.accelerators = {std::move(driver)};
  Compiler compiler(small_model(), options);
  compiler.prepare(batch(size));
  return compiler.engine();
}

std::shared_ptr<const Engine> engine_with(const simulated::SimulatedOptions& options) {
  return engine_on(simulated::make_driver(options));
}

class AcceleratorFile : public EngineFileTest {
 protected:
  // Saves the engine and loads it again.
  std::string refusal_of(const Engine& engine, const std::function<void(Manifest&)>& change = nullptr) {
    save_engine(engine, path(), {});
    if (change) {
      const auto file = EngineFile::open(path());
      Manifest manifest = Manifest::parse(file.text(SectionKind::kManifest));
      change(manifest);
      const std::string json = manifest.json();
      auto sections = file.sections();
      sections[0].bytes = std::as_bytes(std::span(json));
      write_engine_file(path("changed"), sections);
    }
    try {
      load_engine(path(change ? "changed" : "small.engine")).engine->prepared();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return error.what();
    }
    return "";
  }
};

TEST_F(AcceleratorFile, GivesTheSameStepsAndBits) {
  for (const simulated::SimulatedOptions& options : {simulated::SimulatedOptions{.seed = 3, .streams = 4},
                                                     {.lacks = {"Conv"}},
                                                     {.lacks = {"MatMul", "Relu"}}}) {
    const auto engine = engine_with(options);
    save_engine(*engine, path(), {});
    const auto loaded = load_engine(path());
    ASSERT_EQ(loaded.engine->options().accelerators.size(), 1U);
    EXPECT_EQ(loaded.engine->options().accelerators[0]->options(),
              simulated::make_driver(options)->options());
    const auto had = describe_steps(*engine->prepared()[0].plan),
               has = describe_steps(*loaded.engine->prepared()[0].plan);
    ASSERT_EQ(had.size(), has.size());
    for (size_t i = 0; i < had.size(); ++i) {
      EXPECT_EQ(had[i].kernel, has[i].kernel);
      EXPECT_EQ(had[i].device, has[i].device);
      EXPECT_EQ(had[i].refusal, has[i].refusal);
    }
    EXPECT_EQ(run(loaded.engine, 2), run(engine, 2));
    EXPECT_EQ(run(loaded.engine, 3), run(engine, 3));  // of sizes that the file holds no plan for
  }
}

size_t compiled(const Engine& engine) {
  return dynamic_cast<const simulated::SimulatedDevice&>(engine.accelerators().at(0)->device()).compiled();
}

TEST_F(AcceleratorFile, KernelsRunByThePayloadsOfTheFile) {
  const auto engine = engine_with({});
  EXPECT_GT(compiled(*engine), 0U);
  save_engine(*engine, path(), {});
  EXPECT_EQ(read_manifest(path()).payloads.size(), compiled(*engine));
  const auto loaded = load_engine(path());
  EXPECT_EQ(run(loaded.engine, 2), run(engine, 2));
  EXPECT_EQ(compiled(*loaded.engine), 0U);
}

// Found by comparing, and at the node whose kernel runs by it.
TEST_F(AcceleratorFile, AWrongPayloadIsFoundAtItsNode) {
  save_engine(*engine_with({}), path(), {});
  const auto payloads = read_manifest(path()).payloads;
  const auto position = [&](const std::string& op) {
    const auto at = std::find_if(payloads.begin(), payloads.end(),
                                 [&](const auto& payload) { return payload.name.starts_with(op + " "); });
    return static_cast<size_t>(at - payloads.begin());
  };
  const auto file = EngineFile::open(path());
  auto sections = file.sections();
  const auto first = static_cast<size_t>(
      std::find_if(sections.begin(), sections.end(),
                   [](const Section& section) { return section.kind == SectionKind::kPayload; }) -
      sections.begin());
  sections.at(first + position("MatMul")).bytes = file.section(SectionKind::kPayload, position("Add"));
  write_engine_file(path("changed"), sections);
  using Values = std::map<std::string, std::vector<double>>;
  const auto trace = [](const fs::path& from) {
    Values values;
    Observer observer;
    observer.after = [&](const ObservedStep& seen, int64_t) {
      if (const Value* value = seen.value_made(0))
        values[value->name] = seen.output(0).as_tensor().to_doubles();
    };
    Session session(load_engine(from).engine);
    session.run({{"x", noise({2, 16, 6, 6}, 7)}}, &observer);
    return values;
  };
  const Values had = trace(path()), has = trace(path("changed"));
  std::set<std::string> differ;
  for (const auto& [name, values] : had) {
    if (values != has.at(name)) differ.insert(name);
  }
  EXPECT_EQ(differ, (std::set<std::string>{"product", "sum"}));
}

TEST_F(AcceleratorFile, SaysWhatItIsForAndWhyNodesAreLeftToTheCpu) {
  save_engine(*engine_with({.seed = 5, .streams = 3, .lacks = {"Conv", "MatMul"}}), path(), {});
  const Manifest manifest = read_manifest(path());
  ASSERT_EQ(manifest.devices.size(), 1U);
  EXPECT_EQ(manifest.devices[0].name, "simulated");
  EXPECT_EQ(manifest.devices[0].options, (std::map<std::string, std::string>{
                                             {"number", "5"}, {"streams", "3"}, {"lacks", "Conv,MatMul"}}));
  std::map<std::string, std::string> refusals;
  size_t copies = 0;
  for (const StepDescription& step : manifest.plans.at(0).steps) {
    if (step.kernel.starts_with("copy to ")) ++copies;
    for (const std::string& node : step.nodes) {
      if (!step.refusal.empty()) refusals[node] = step.device + ": " + step.refusal;
    }
  }
  EXPECT_EQ(refusals,
            (std::map<std::string, std::string>{{"node_conv", "cpu: the simulated device lacks Conv"},
                                                {"node_product", "cpu: the simulated device lacks MatMul"}}));
  EXPECT_GE(copies, 5U);
}

TEST_F(AcceleratorFile, ADriverThatThisBuildLacksIsRefused) {
  EXPECT_THAT(refusal_of(*engine_on(std::make_shared<OtherDriver>("quantum"))),
              AllOf(HasSubstr("'quantum'"), HasSubstr("this build of Vernier has no driver")));
  EXPECT_EQ(read_manifest(path()).devices.at(0).name, "quantum");  // and can be looked at all the same
}

TEST_F(AcceleratorFile, ADriverThatDiffersIsRefused) {
  EXPECT_THAT(refusal_of(*engine_on(std::make_shared<OtherDriver>("simulated", "another library"))),
              HasSubstr("another library"));
  const auto engine = engine_with({.lacks = {"Conv"}});
  EXPECT_EQ(refusal_of(*engine), "");
  EXPECT_EQ(refusal_of(*engine, [](Manifest&) {}), "");
  EXPECT_THAT(refusal_of(*engine, [](Manifest& m) { m.devices[0].instruction_sets = "z80"; }),
              HasSubstr("z80"));
  EXPECT_THAT(refusal_of(*engine, [](Manifest& m) { m.devices[0].options["speed"] = "high"; }),
              HasSubstr("no option 'speed'"));
  EXPECT_THAT(refusal_of(*engine, [](Manifest& m) { m.devices[0].options["streams"] = "0"; }),
              HasSubstr("streams"));
  // Devices that give other steps.
  EXPECT_THAT(refusal_of(*engine,
                         [](Manifest& m) {
                           m.devices.clear();
                           m.payloads.clear();
                         }),
              HasSubstr("steps"));
  EXPECT_THAT(refusal_of(*engine, [](Manifest& m) { m.devices[0].options["lacks"] = "MatMul"; }),
              HasSubstr("build the engine here again"));
  EXPECT_THAT(refusal_of(*engine,
                         [](Manifest& m) {
                           for (StepDescription& step : m.plans[0].steps) {
                             if (step.kernel == "copy to cpu") step.kernel = "copy to simulated";
                           }
                         }),
              HasSubstr("'copy to simulated'"));
}

TEST_F(AcceleratorFile, OneWithAFaultIsNotWritten) {
  const auto engine =
      engine_with({.fault = simulated::DeviceFault{simulated::DeviceFault::Kind::kDropCopy, 0}});
  EXPECT_THROW(save_engine(*engine, path(), {}), Error);
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace vernier
