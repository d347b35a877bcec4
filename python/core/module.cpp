// vernier_engine._core: engines and sessions in the process of Python. The package around it is their
// documentation.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "session.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace vernier::python {

namespace {

// As the exceptions of vernier_engine/errors.py.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    try {
      const nb::object made = nb::module_::import_("vernier_engine.errors")
                                  .attr("error_of")(static_cast<int>(error.code()), error.what(),
                                                    error.file(), error.node(), error.advice());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

Engine load(const std::string& path) {
  const nb::gil_scoped_release release;
  return Engine::load(path);
}

// (name, element type, (size or symbol, …) or None, may be left out)
nb::tuple describe(const TensorInfo& info) {
  nb::object shape = nb::none();
  if (info.has_rank) {
    nb::list sizes;
    for (const Dimension& dimension : info.shape) {
      if (dimension.size >= 0)
        sizes.append(dimension.size);
      else
        sizes.append(dimension.symbol);
    }
    shape = nb::tuple(sizes);
  }
  return nb::make_tuple(info.name, info.is_tensor ? static_cast<int>(info.type) : 0, shape, info.has_default);
}

nb::list describe(std::span<const TensorInfo> infos) {
  nb::list all;
  for (const TensorInfo& info : infos) all.append(describe(info));
  return all;
}

nb::list describe(const std::vector<LayerTime>& layers) {
  nb::list all;
  for (const LayerTime& layer : layers)
    all.append(nb::make_tuple(layer.kernel, layer.nodes, layer.milliseconds, layer.is_fallback));
  return all;
}

}  // namespace

}  // namespace vernier::python

NB_MODULE(_core, module) {
  using namespace vernier::python;
  nb::register_exception_translator(translate, nullptr);
  module.def("version", &vernier::version);
  nb::class_<vernier::Engine>(module, "Engine")
      .def_static("load", &load, "path"_a)
      .def_prop_ro("inputs", [](const vernier::Engine& engine) { return describe(engine.inputs()); })
      .def_prop_ro("outputs", [](const vernier::Engine& engine) { return describe(engine.outputs()); });
  nb::class_<RunOutputs>(module, "Outputs")
      .def("__len__", &RunOutputs::size)
      .def("numpy", &RunOutputs::numpy, "index"_a)
      .def("dlpack", &RunOutputs::dlpack, "index"_a);
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def(nb::init<const vernier::Engine&, std::string, int, std::vector<int64_t>>(), "engine"_a, "device"_a,
           "type"_a, "shape"_a)
      .def("write", &DeviceArray::write, "array"_a)
      .def("read", &DeviceArray::read, "array"_a)
      .def("__dlpack__", &DeviceArray::dlpack)
      .def("__dlpack_device__", &DeviceArray::dlpack_device);
  nb::class_<PyEvent>(module, "Event").def_prop_ro("ready", &PyEvent::ready).def("wait", &PyEvent::wait);
  nb::class_<PySession>(module, "Session")
      .def(nb::init<const vernier::Engine&, int>(), "engine"_a, "threads"_a)
      .def("bind", &PySession::bind, "name"_a, "array"_a)
      .def("unbind", &PySession::unbind, "name"_a)
      .def("bind_cache", &PySession::bind_cache, "past"_a, "present"_a, "array"_a, "rows"_a)
      .def("cache_rows", &PySession::cache_rows, "past"_a)
      .def("set_cache_rows", &PySession::set_cache_rows, "past"_a, "rows"_a)
      .def("use_stream", &PySession::use_stream, "device"_a, "stream"_a)
      .def("leave_stream", &PySession::leave_stream)
      .def("synchronize", &PySession::synchronize)
      .def("run", &PySession::run, "feeds"_a)
      .def("run_async", [](nb::handle self) { return nb::cast<PySession&>(self).run_async(self); })
      .def("cancel", &PySession::cancel)
      .def(
          "profile", [](PySession& session, int runs) { return describe(session.profile(runs)); }, "runs"_a)
      .def_prop_ro("memory_bytes", &PySession::memory_bytes);
}
