"""Contexts: sizes, addresses, errors; and the memory that plays that of a device."""

import numpy as np
import pytest
import vernier_engine as vn
import vernier_engine.trt as trt
from conftest import DIGITS
from emulation import context, log, parsed  # noqa: F401
from vernier_engine.trt import cuda, cudart, memory
from vernier_engine.trt.context import evaluated

ERROR = trt.ILogger.ERROR


@pytest.mark.parametrize("address", [0, 0x7F00_0000_0000_0000, 12345])
def test_what_is_no_memory_of_this_process_is_refused(context, address):
    run, image, result = context
    with pytest.raises(vn.Usage, match=r"'input' .2, 3, 12, 12. is at address .*no memory of 3456 bytes.*vernier_engine.trt.cuda"):
        run.execute_v2([address, result.ctypes.data])
    with pytest.raises(vn.Usage, match="'output'"):
        run.execute_v2([image.ctypes.data, address])
    assert run.execute_v2([image.ctypes.data, result.ctypes.data])


def test_memory_that_cannot_be_written_is_no_output(context, tmp_path):
    run, image, _ = context
    (tmp_path / "zeros").write_bytes(bytes(4096))
    frozen = np.memmap(tmp_path / "zeros", np.float32, "r")
    with pytest.raises(vn.Usage, match="no writable memory"):
        run.execute_v2([image.ctypes.data, frozen.ctypes.data])


def test_allocations_are_known_by_their_size_and_end(context):
    run, image, result = context
    small, right = cuda.mem_alloc(8), cuda.to_device(image)
    with pytest.raises(vn.Usage, match="'input'.*has 3456 bytes, and at address .* there are 8 allocated"):
        run.execute_v2([small, result.ctypes.data])
    with pytest.raises(vn.Usage, match="there are 3452 allocated"):
        run.execute_v2([int(right) + 4, result.ctypes.data])
    assert run.execute_v2([right, result.ctypes.data]) and memory.find(int(right)).alive
    address = int(right)
    right.free()
    right.free()
    with pytest.raises(vn.Usage, match="no memory of 3456 bytes"):
        run.execute_v2([address, result.ctypes.data])
    assert cudart.cudaMemcpy(result, address, 4, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost)[0] == cudart.cudaError_t.cudaErrorInvalidValue


def test_contexts_follow_new_addresses_and_sizes(parsed):
    builder, network, config, feeds = parsed("mlp")
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 16), (2, 16), (4, 16))
    config.add_optimization_profile(profile)
    run = builder.build_engine(network, config).create_execution_context()
    results = [np.full((rows, 8), np.nan, np.float32) for rows in (1, 4, 2)]
    for result in results:
        rows = feeds["x"][: len(result)].copy()
        assert run.set_input_shape("x", rows.shape) and run.execute_v2([rows.ctypes.data, result.ctypes.data])
    np.testing.assert_allclose(results[1][:2], results[2], atol=1e-6)
    np.testing.assert_allclose(results[1][:1], results[0], atol=1e-6)
    assert run.get_tensor_strides("x") == (16, 1) and run.engine.get_tensor_profile_shape("x", 0)[2] == (4, 16)


def test_runs_that_lack_something_are_false_with_an_error(parsed, log):
    builder, network, config, feeds = parsed("tokens")
    run = builder.build_engine(network, config).create_execution_context()
    assert not run.execute_async_v3(0) and "lacks an address" in log.of(ERROR)[-1]
    pooled = np.zeros((3, 6), np.float32)
    for name, array in {**feeds, "pooled": pooled}.items():
        assert run.set_tensor_address(name, array.ctypes.data) and run.get_tensor_address(name) == array.ctypes.data
    assert run.infer_shapes() == ["input_ids", "mask"] and not run.execute_async_v3(0) and "lacks its sizes" in log.of(ERROR)[-1]
    run.set_input_shape("input_ids", (3, 7))
    run.set_input_shape("mask", (2, 7))  # a batch of another size
    assert not run.execute_async_v3(0) and "not executed: " in log.of(ERROR)[-1]
    run.set_input_shape("mask", (3, 7))
    assert run.execute_async_v3(0) and pooled.any()


def test_names_and_numbers_that_are_not_there(context, log):
    run, image, result = context
    engine = run.engine
    for use in (lambda: engine.get_tensor_shape("no"), lambda: engine.get_binding_name(7), lambda: run.set_input_shape("output", (1,)),
                lambda: run.execute_v2([1]), lambda: run.set_tensor_address("no", 1), lambda: engine.get_tensor_profile_shape("input", 3),
                lambda: setattr(run, "active_optimization_profile", 2)):  # fmt: skip
        with pytest.raises(vn.Usage):
            use()
    assert engine.get_tensor_mode("no") == trt.TensorIOMode.NONE and engine.get_binding_index("no") == -1
    assert not run.set_input_shape("input", (3, 3, 12, 12)) and "profile 0 holds sizes" in log.of(ERROR)[-1]
    assert list(engine) == ["input", "output"] and engine[0] == "input" and engine["output"] == 1 and len(engine) == 2 and bool(engine)


def test_what_is_no_engine_of_vernier_is_none_with_an_error(log, context):
    runtime = trt.Runtime(log)
    assert runtime.deserialize_cuda_engine(b"ftrt plan") is None and "plans of TensorRT run only there" in log.of(ERROR)[-1]
    whole = context[0].engine.serialize()
    assert runtime.deserialize_cuda_engine(whole[: len(whole) // 2]) is None and "model.engine" in log.of(ERROR)[-1]
    assert runtime.deserialize_cuda_engine(bytearray(whole)).name == "static.onnx"


def test_an_engine_is_refitted_with_other_weights(context, log, tmp_path):
    import onnx

    run, image, result = context
    assert run.execute_v2([image.ctypes.data, result.ctypes.data])
    before = result.copy()
    model = onnx.load(tmp_path / "static.onnx")
    weight = next(each for each in model.graph.initializer if each.name == "w")
    weight.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(weight), "w"))
    refitter = trt.Refitter(run.engine, log)
    assert not refitter.refit_cuda_engine() and "nothing to refit with" in log.of(ERROR)[-1]
    parser = trt.OnnxParserRefitter(refitter, log)
    assert not parser.refit_from_bytes(b"no model") and parser.num_errors == 1
    assert parser.refit_from_bytes(model.SerializeToString()) and refitter.refit_cuda_engine_async(0)
    assert "accuracy verdict: pass" in log.of(trt.ILogger.INFO)
    assert run.execute_v2([image.ctypes.data, result.ctypes.data])  # the same context, the new weights
    inverse = 1 / before
    np.testing.assert_allclose(result, inverse / inverse.sum(axis=1, keepdims=True), rtol=1e-4)
    assert trt.OnnxParserRefitter(refitter, log).refit_from_file(DIGITS / "digits.onnx")
    assert not refitter.refit_cuda_engine() and "not refitted: " in log.of(ERROR)[-1]


def test_an_engine_without_weights_says_so(parsed, log):
    builder, network, config, _ = parsed()
    config.set_flag(trt.BuilderFlag.STRIP_PLAN)
    engine = trt.Runtime(log).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert engine.num_io_tensors == 0 and any("no weights" in line for line in log.of(trt.ILogger.WARNING))
    with pytest.raises(vn.Unsupported, match="no weights"):
        engine.create_execution_context()


def test_sizes_are_evaluated_as_the_library_prints_them():
    values = {"n": 6, "h.w": 4, "a b": 3, "gpu_0/data-1": 7}
    for text, size in (("n", 6), ("2*n + h.w", 16), ("floordiv(n - 1, 2)", 2), ("max(n, h.w)*min(2, n)", 12), ("-3 + `a b`", 0), ("(n + 2)*3", 24), ("gpu_0/data-1", 7), ("2*`gpu_0/data-1`", 14),
                       ("k", -1), ("non_zero?6", -1), ("n; 1", -1)):  # fmt: skip
        assert evaluated(text, values) == size, text
    assert evaluated(5, {}) == 5
    with pytest.raises(SyntaxError):
        evaluated("2 ** n", values)


def test_cuda_copies_and_checks():
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    device, other = cuda.to_device(source), cuda.mem_alloc_like(source)
    cuda.memcpy_dtod_async(other, device, source.nbytes, cuda.Stream())
    np.testing.assert_array_equal(cuda.from_device(other, (2, 3), np.float32), source)
    cuda.memset_d8(device, 0, 4)
    assert cuda.from_device(device, (6,), np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    for use in (lambda: cuda.memcpy_htod(cuda.mem_alloc(4), source), lambda: cuda.memcpy_htod(device, np.ones((4, 6))[::2, ::2]),
                lambda: cuda.memcpy_dtoh(np.zeros((8, 6))[::2], device), lambda: cuda.memcpy_htod(77, source)):  # fmt: skip
        with pytest.raises(cuda.LogicError):
            use()
    assert cuda.pagelocked_zeros(3, np.int32).tolist() == [0, 0, 0] and cuda.Device.count() == 1 and cuda.Stream().is_done()


def test_cudart_returns_its_errors():
    error, pointer = cudart.cudaMalloc(16)
    source = np.arange(4, dtype=np.int32)
    assert error == 0 and cudart.cudaMemcpy(pointer, source, 16, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice) == (cudart.cudaError_t.cudaSuccess,)
    assert cudart.cudaMemcpy(pointer, source.ctypes.data, 17, cudart.cudaMemcpyKind.cudaMemcpyDefault)[0] == cudart.cudaError_t.cudaErrorInvalidValue
    assert cudart.cudaFree(pointer) == (0,) and cudart.cudaFree(pointer)[0] == 1 and cudart.cudaFree(0) == (0,)
    assert cudart.cudaGetErrorName(cudart.cudaError_t.cudaErrorInvalidValue)[1] == b"cudaErrorInvalidValue" and cudart.cudaSetDevice(1)[0] == 1
    (_, start), (_, end) = cudart.cudaEventCreate(), cudart.cudaEventCreate()
    _, pointer = cudart.cudaMallocHost(4)
    assert cudart.cudaEventRecord(end, 0) == (0,) and cudart.cudaEventElapsedTime(start, end)[1] >= 0 and cudart.cudaEventDestroy(end) == (0,)
    assert cudart.cudaMemset(pointer, 1, 4) == (0,) and cudart.cudaMemset(pointer, 1, 5)[0] == 1
    assert memory.array_at(pointer, (4,), np.uint8).tolist() == [1, 1, 1, 1]
