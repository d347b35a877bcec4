"""OnnxParser and what a network tells of its model."""

import numpy as np
import pytest
import vernier_engine as vn
import vernier_engine.trt as trt
from conftest import save
from emulation import log, parsed  # noqa: F401
from onnx import TensorProto, helper


@pytest.fixture
def parser(log):
    return trt.OnnxParser(trt.Builder(log).create_network(), log)


@pytest.fixture
def unknown(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Frobnicate", ["r"], ["y"], "frob")]
    return save(tmp_path / "unknown.onnx", nodes, [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])


def test_an_operator_that_nobody_knows_is_an_error_with_its_node(parser, unknown, log):
    assert not parser.parse(unknown.read_bytes()) and parser.num_errors == 1
    error = parser.get_error(0)
    assert (error.code(), error.node(), error.node_name(), error.node_operator()) == (trt.ErrorCode.UNSUPPORTED_NODE, 1, "frob", "Frobnicate")
    assert "Frobnicate" in error.desc() and "node 1 (frob, Frobnicate)" in str(error) and error.line() == 0 and error.func() == ""
    assert log.of(trt.ILogger.ERROR) == [str(error)]
    assert parser.supports_model(unknown.read_bytes()) == (False, [([0, 1], False)]) and parser.num_errors == 2
    parser.clear_errors()
    assert parser.num_errors == 0


def test_what_is_no_model_is_an_error(parser, tmp_path, log):
    assert not parser.parse(b"no model") and not parser.parse_from_file(str(tmp_path / "missing.onnx"))
    assert parser.get_error(0).code() == trt.ErrorCode.MODEL_DESERIALIZE_FAILED and parser.get_error(0).node() == -1
    assert "missing.onnx" in parser.get_error(1).file() and parser.supports_model(b"no model") == (False, [([], False)])


def test_a_network_holds_one_model(parsed, log, tmp_path):
    _, network, _, _ = parsed()
    parser = trt.OnnxParser(network, log)
    assert not parser.parse_from_file(tmp_path / "static.onnx") and "holds a model already" in parser.get_error(0).desc()


def test_weights_beside_a_model_are_found(parser, tmp_path):
    import onnx

    path = save(tmp_path / "weights.onnx", [helper.make_node("Add", ["x", "w"], ["y"], "add")], [("x", TensorProto.FLOAT, [600])], [("y", TensorProto.FLOAT, [600])],
                [("w", np.ones(600, np.float32))])  # fmt: skip
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").exists() and parser.parse(path.read_bytes(), path=str(path)), parser.get_error(0)


def test_a_network_tells_of_its_model(parsed):
    _, network, _, _ = parsed("tokens")
    assert (network.num_inputs, network.num_outputs, network.num_layers, len(network)) == (2, 1, 4, 4)
    ids, mask = network.get_input(0), network.get_input(1)
    assert (ids.name, ids.dtype, ids.shape, mask.dtype) == ("input_ids", trt.int64, (-1, -1), trt.float32)
    assert ids.is_network_input and not ids.is_network_output and network.get_output(0).is_network_output
    embed = network.get_layer(0)
    assert (embed.name, embed.type, embed.num_inputs, embed.num_outputs) == ("embed", trt.LayerType.GATHER, 2, 1)
    assert embed.get_input(1) is ids and embed.get_input(2) is None and embed.get_output(0).shape == (-1, -1, 6)
    assert network[2].get_input(0) is embed.get_output(0) and embed.precision == trt.float32 and embed.get_output_type(0) == trt.float32
    assert not network.has_implicit_batch_dimension and network.get_flag(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    with pytest.raises(vn.Usage, match="is no output"):
        network.unmark_output(ids)


def test_inputs_are_renamed_and_resized_where_the_model_allows_it(parsed, log):
    builder, network, config, _ = parsed("mlp")
    x, y = network.get_input(0), network.get_output(0)
    x.name, y.name = "input", "output"
    x.shape = (3, 16)
    assert y.shape == (3, 8) and network[0].get_output(0).shape == (3, 32) and x.name == "input"
    with pytest.raises(vn.Usage, match="there is a tensor 'output' already"):
        x.name = "output"
    engine = builder.build_engine(network, config)
    assert {name: tuple(engine.get_tensor_shape(name)) for name in engine} == {"input": (3, 16), "output": (3, 8)}
    with pytest.raises(vn.VernierError, match="gemm"):
        x.shape = (3, 17)
    assert x.shape == (3, 16) and builder.build_engine(network, config).get_tensor_shape("input") == (3, 16)


def test_nodes_without_a_name_have_one_of_their_operator(parser, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
    path = save(tmp_path / "nameless.onnx", nodes, [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])
    assert parser.parse_from_file(path) and [layer.name for layer in parser._network] == ["Relu", "Relu#1"]


def test_types_that_tensorrt_lacks_are_said(parser, tmp_path):
    path = save(tmp_path / "double.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.DOUBLE, [2])], [("y", TensorProto.DOUBLE, [2])])
    assert parser.parse_from_file(path)
    with pytest.raises(vn.Unsupported, match="no DataType for f64"):
        parser._network.get_input(0).dtype


def test_small_types():
    dims = trt.Dims((2, -1, 3))
    dims[1] = 4
    assert dims == (2, 4, 3) and dims == [2, 4, 3] and str(dims) == "(2, 4, 3)" and (1,) + dims == (1, 2, 4, 3) and len(trt.Dims3((1, 2, 3))) == 3
    assert trt.volume(dims) == 24 and trt.volume(()) == 1
    assert trt.nptype(trt.float16) is np.float16 and np.dtype(trt.nptype(trt.DataType.BF16)).itemsize == 2 and trt.int64.itemsize == 8
    assert str(trt.DataType.FLOAT) == "DataType.FLOAT" and trt.float32 == trt.DataType.FLOAT and int(trt.BuilderFlag.INT8) == 1
    assert trt.__version__ == "10.0.1" and set(trt.__all__) <= set(dir(trt))
