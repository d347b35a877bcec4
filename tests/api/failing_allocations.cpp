// Makes each allocation of building and running a model fail in turn: the k-th alone, and all from the k-th
// on, for every k until nothing fails any more. Each time the error must say so, nothing may be left behind,
// and engine and session must go on with the right bits.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>

#include "api/allocation_faults.h"
#include "api/models.h"
#include "vernier/vernier.h"
#include "vernier/vernier_c.h"

namespace {

using namespace vernier;

int faults = 0;

void fault(const char* scenario, int64_t k, bool all, const char* text) {
  std::printf("%s, allocation %lld%s: %s\n", scenario, static_cast<long long>(k),
              all ? " and all after it" : "", text);
  if (++faults > 20) std::exit(1);
}

struct Outcome {
  std::optional<ErrorCode> thrown;
  int64_t failed;
};

template <class Call>
Outcome outcome(int64_t k, bool all, const Call& call) {
  std::optional<ErrorCode> code;
  test::fail_allocation(k, all);
  try {
    call();
  } catch (const Error& error) {
    code = error.code();
  } catch (const std::bad_alloc&) {  // what this program itself asked for, e.g. to hold sizes
    code = ErrorCode::kOutOfMemory;
  } catch (...) {
    code = ErrorCode::kInternal;
  }
  return {code, test::stop_failing()};
}

// Calls with the k-th allocation failing, for every k, or one in `stride`; `prepare` makes, without faults,
// what it is called with. Nothing may be left behind, whether it throws or not; `is_right` holds of that
// thing after each failure.
template <class Prepare, class Call, class Check>
void fail_each(const char* scenario, const Prepare& prepare, const Call& call, const Check& is_right,
               int64_t stride = 1) {
  for (int i = 0; i < 3; ++i) {  // what is made once per process is made now
    auto thing = prepare();
    call(thing);
    is_right(thing);
  }
  int64_t k = 0, failures = 0;
  for (const bool all : {false, true}) {
    for (k = 0;; k += stride) {
      const int64_t before = test::live_allocations();
      Outcome result;
      bool right = false;
      {
        auto thing = prepare();
        result = outcome(k, all, [&] { call(thing); });
        right = is_right(thing);
      }
      const int64_t left = test::live_allocations() - before;
      if (!right) fault(scenario, k, all, "the result afterwards is wrong");
      if (result.failed == 0) {
        if (result.thrown) fault(scenario, k, all, "an error though nothing failed");
        break;
      }
      ++failures;
      if (!result.thrown)
        fault(scenario, k, all, "failed, and nobody was told");
      else if (*result.thrown != ErrorCode::kOutOfMemory)
        fault(scenario, k, all, "another error than out of memory");
      if (left > 0) fault(scenario, k, all, "memory was left behind");
    }
  }
  std::printf("%s: %lld allocations, %lld failures survived\n", scenario, static_cast<long long>(k),
              static_cast<long long>(failures));
}

// Tuning allocates very much; tuned_build() is about that.
const BuildOptions kUntuned{.optimization_level = 0, .verify = false};

struct Scenarios {
  test::ModelFile file = test::dense_model();
  std::vector<float> x = {1, 2, 3, -1, 0.5F, 4};
  std::vector<float> row = {1, 2, 3};

  void bind(Session& session) const { session.bind_input("x", x, {2, 3}); }

  bool runs_right(Session& session) const {
    bind(session);
    const Outputs outputs = session.run();
    const TensorView view = outputs["y"];
    const auto y = view.values<float>();
    const auto expected = test::dense_result(x);
    return std::equal(y.begin(), y.end(), expected.begin(), expected.end());
  }

  void build() const {
    fail_each(
        "build", [] { return 0; }, [&](int) { Engine::build(file.path(), kUntuned); },
        [](int) { return true; });
  }

  // Tuned and judged, as engines are by default: some of very many allocations.
  void tuned_build() const {
    constexpr int64_t kStride = 499;
    fail_each(
        "tuned build", [] { return 0; }, [&](int) { Engine::build(file.path()); }, [](int) { return true; },
        kStride);
  }

  // With what was prepared, for which a run needs no plan.
  void load() const {
    const auto engine_file = test::dense_engine();
    fail_each(
        "load", [] { return 0; }, [&](int) { Engine::load(engine_file.path()); },
        [&](int) {
          Session session(Engine::load(engine_file.path()), {.threads = 1});
          return runs_right(session);
        });
  }

  // The plan, the kernels and the arena are made in it.
  void first_run() const {
    const auto prepare = [&] { return Engine::build(file.path(), kUntuned); };
    fail_each(
        "first run", prepare,
        [&](const Engine& engine) {
          Session session(engine, {.threads = 1});
          bind(session);
          session.run();
        },
        [&](const Engine& engine) {
          Session session(engine, {.threads = 1});
          return runs_right(session);
        });
  }

  // A failure must leave the plan for other sizes alone.
  void new_sizes() const {
    const auto prepare = [&] {
      Session session(Engine::build(file.path(), kUntuned), {.threads = 1});
      runs_right(session);
      return session;
    };
    fail_each(
        "new sizes", prepare,
        [&](Session& session) {
          session.bind_input("x", row, {1, 3});
          session.run();
        },
        [&](Session& session) { return runs_right(session); });
  }

  // A session that goes on after each failure.
  void later_runs() const {
    Session kept(Engine::build(file.path(), kUntuned), {.threads = 1});
    const auto prepare = [&] { return &kept; };
    const auto is_right = [&](Session* session) { return runs_right(*session); };
    bind(kept);
    fail_each(
        "run", prepare, [](Session* session) { session->run(); }, is_right);
    fail_each(
        "run_async", prepare, [](Session* session) { session->run_async().wait(); }, is_right);
    fail_each(
        "bind", prepare, [&](Session* session) { bind(*session); }, is_right);
  }

  // Through the C interface nothing is thrown, and the status says it.
  void c_interface() const {
    const std::string path = file.path().string();
    const auto call = [&](int) {
      const int64_t dims[2] = {2, 3};
      vernier_engine* engine = nullptr;
      vernier_session* session = nullptr;
      vernier_build_options* options = nullptr;
      int status = vernier_build_options_create(&options);
      if (status == 0) status = vernier_build_options_set(options, "optimization_level", "0");
      if (status == 0) status = vernier_build_options_set(options, "verify", "0");
      if (status == 0) status = vernier_engine_build_with(path.c_str(), options, &engine);
      vernier_build_options_release(options);
      if (status == 0) status = vernier_session_create(engine, 1, &session);
      if (status == 0) status = vernier_session_bind_input(session, "x", VERNIER_FLOAT, dims, 2, x.data());
      if (status == 0) status = vernier_session_run(session);
      vernier_session_release(session);
      vernier_engine_release(engine);
      if (status != 0) throw Error(static_cast<ErrorCode>(status));
    };
    // The text of the last error lives until the next; let it be the same before and after.
    const auto same_error = [](int) { return vernier_session_memory_bytes(nullptr) == 0; };
    fail_each(
        "C", [&] { return same_error(0) ? 0 : 1; }, call, same_error);
  }

  // Control flow, sizes that only running tells, and operators without a kernel.
  void other_models() const {
    const std::vector<float> state(16, 0.1F), sparse = {0, 2, 0, 3};
    const std::vector<int64_t> trips = {3};
    const std::vector<std::string> words = {"a", "b"};
    first_run_of("loop", test::loop_model(), [&](Session& session) {
      session.bind_input("s", state, {4, 4});
      session.bind_input("trips", trips, {});
    });
    first_run_of("where", test::where_model(), [&](Session& s) { s.bind_input("x", sparse, {4}); });
    first_run_of("strings", test::strings_model(), [&](Session& s) { s.bind_input("x", words, {2}); });
  }

  template <class Bind>
  void first_run_of(const char* scenario, const test::ModelFile& model, const Bind& bind_inputs) const {
    const auto call = [&](const Engine& engine) {
      Session session(engine, {.threads = 1});
      bind_inputs(session);
      session.run();
      return true;
    };
    fail_each(
        scenario, [&] { return Engine::build(model.path(), kUntuned); }, call, call);
  }
};

}  // namespace

int main() {
  test::watch_allocations();
  const Scenarios scenarios;
  scenarios.later_runs();
  scenarios.build();
  scenarios.tuned_build();
  scenarios.load();
  scenarios.first_run();
  scenarios.new_sizes();
  scenarios.c_interface();
  scenarios.other_models();
  return faults == 0 ? 0 : 1;
}
