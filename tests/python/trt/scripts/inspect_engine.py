"""Prints what an engine is made of, as JSON."""
import json

import numpy as np
import tensorrt as trt

MODEL, TOLERANCE = "static", 1e-5


def main(model, feeds, folder):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    assert trt.OnnxParser(network, logger).parse_from_file(model)
    engine = builder.build_engine(network, builder.create_builder_config())
    inspector = engine.create_engine_inspector()
    found = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
    assert "conv1" in found["nodes"] and engine.num_layers > 0
    lines = [inspector.get_layer_information(i, trt.LayerInformationFormat.ONELINE) for i in range(engine.num_layers)]
    assert any("conv1" in line for line in lines) and "\n".join(lines) == inspector.get_engine_information(trt.LayerInformationFormat.ONELINE)
    result = np.full((2, 5), np.nan, np.float32)
    assert engine.create_execution_context().execute_v2([feeds["input"].ctypes.data, result.ctypes.data])
    return {"output": result}
