"""A script for all versions, which asks what there is."""
import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


def main(model, feeds, folder):
    major = int(trt.__version__.split(".")[0])
    logger = trt.Logger(trt.Logger.VERBOSE if False else trt.Logger.ERROR)
    trt.init_libnvinfer_plugins(logger, namespace="")
    assert [each.name for each in trt.get_plugin_registry().plugin_creator_list] == []
    builder = trt.Builder(logger)
    network = builder.create_network(0 if major >= 10 else 1)
    parser = trt.OnnxParser(network, logger)
    supported, parts = parser.supports_model(open(model, "rb").read())
    assert supported and parts == [(list(range(6)), True)]
    assert parser.parse_from_file(model)
    config = builder.create_builder_config()
    if hasattr(config, "set_memory_pool_limit"):
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 26)
    else:
        config.max_workspace_size = 1 << 26
    build = builder.build_serialized_network if hasattr(builder, "build_serialized_network") else builder.build_engine
    with build(network, config) as plan, open(folder / "model.engine", "wb") as file:
        file.write(plan if isinstance(plan, trt.IHostMemory) else plan.serialize())
    with open(folder / "model.engine", "rb") as file, trt.Runtime(logger) as runtime:
        engine = runtime.deserialize_cuda_engine(file.read())
    names = range(engine.num_io_tensors) if hasattr(engine, "num_io_tensors") else engine
    shapes = {engine.get_tensor_name(i): tuple(engine.get_tensor_shape(engine.get_tensor_name(i))) for i in names}
    result = np.full(shapes["output"], np.nan, np.float32)
    context = engine.create_execution_context()
    run = context.execute_async_v3 if not hasattr(context, "execute_v2") else None
    assert run is None and context.execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
