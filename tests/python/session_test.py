"""Sessions in the process of Python: memory, element types, threads, errors."""

import gc
import resource
import threading
import time

import ml_dtypes
import numpy as np
import onnx
import pytest
import vernier_engine as vn
from conftest import save
from onnx import TensorProto, helper


@pytest.fixture
def session(digits):
    return vn.Session(digits, threads=1, verify=False, opt_level=0)


def identity(folder, element_type, op="Identity", dims=(2, 3)):
    path = save(folder / f"{op}-{element_type}.onnx", [helper.make_node(op, ["x"], ["y"])], [("x", element_type, dims)], [("y", element_type, dims)], opset=23)
    return vn.Session(path, threads=1, verify=False, opt_level=0)


class Exporter:
    """An array that only DLPack shows."""

    def __init__(self, array):
        self._array, self.asked = array, 0

    def __dlpack__(self, **options):
        self.asked += 1
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_inputs_and_outputs_are_described(session):
    (given,), (made,) = session.inputs, session.outputs
    assert (given.name, given.type, given.dtype, given.shape) == ("image", "FLOAT", np.float32, ("N", 1, 8, 8))
    assert (made.name, made.shape, made.has_default) == ("probabilities", ("N", 10), False)


def test_run_and_call_make_what_onnx_runtime_makes(session, digits, images):
    import onnxruntime

    expected = onnxruntime.InferenceSession(digits, providers=["CPUExecutionProvider"]).run(None, {"image": images})[0]
    (made,) = session.run(None, {"image": images})
    np.testing.assert_allclose(made, expected, atol=1e-5)
    np.testing.assert_array_equal(session.run(["probabilities"], {"image": images})[0], made)
    outputs = session({"image": images})
    assert list(outputs) == ["probabilities"] and len(outputs) == 1
    np.testing.assert_array_equal(outputs["probabilities"], made)


def test_outputs_are_not_copied_and_outlive_the_session(session, images):
    outputs = session({"image": images})
    first, second = outputs["probabilities"], outputs["probabilities"]
    assert first.ctypes.data == second.ctypes.data
    kept = first.copy()
    del outputs, second, session
    gc.collect()
    np.testing.assert_array_equal(first, kept)
    shared = np.from_dlpack(first)
    assert shared.ctypes.data == first.ctypes.data


def test_outputs_of_one_run_are_not_those_of_the_next(session, images):
    (first,) = session.run(None, {"image": images[:4]})
    kept = first.copy()
    session.run(None, {"image": images[4:8]})
    np.testing.assert_array_equal(first, kept)


def test_bound_memory_is_read_and_written_where_it_lies(session, images):
    image, probabilities = images[:2].copy(), np.full((2, 10), np.nan, np.float32)
    session.bind("image", image)
    session.bind("probabilities", probabilities)
    session()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    before = probabilities.copy()
    image[:] = images[2:4]
    event = session.run_async()
    outputs = event.wait()
    assert event.ready and (probabilities != before).any()
    assert outputs["probabilities"].ctypes.data == probabilities.ctypes.data
    assert event.wait()["probabilities"].ctypes.data == probabilities.ctypes.data


def test_what_is_fed_is_of_one_run_and_what_is_bound_stays(session, images):
    session.run(None, {"image": images[:1]})
    with pytest.raises(vn.BadInput, match="image"):
        session()
    session.bind("image", images[:3])
    assert session.run(None, {"image": images[:1]})[0].shape == (1, 10)
    assert session()["probabilities"].shape == (3, 10)
    session.unbind("image")
    with pytest.raises(vn.BadInput, match="image"):
        session()


def test_strided_memory_is_refused_and_says_what_to_do(session, images):
    strided = np.repeat(images[:2], 2, axis=3)[..., ::2]
    assert not strided.flags.c_contiguous
    for give in (lambda: session.run(None, {"image": strided}), lambda: session.bind("image", strided), lambda: session.bind("image", Exporter(strided))):
        with pytest.raises(vn.Unsupported, match="'image' lies in strided memory.*ascontiguousarray"):
            give()
    np.testing.assert_array_equal(session.run(None, {"image": np.ascontiguousarray(strided)})[0], session.run(None, {"image": images[:2]})[0])
    # Sizes of 1 have no stride that matters.
    assert session.run(None, {"image": images[:1].transpose(1, 0, 2, 3)})[0].shape == (1, 10)


def test_what_has_dlpack_is_taken_and_read_only_memory_is_no_output(session, images):
    exporter = Exporter(images[:2].copy())
    np.testing.assert_array_equal(session.run(None, {"image": exporter})[0], session.run(None, {"image": images[:2]})[0])
    assert exporter.asked > 0
    frozen = images[:2].copy()
    frozen.flags.writeable = False
    assert session.run(None, {"image": frozen})[0].shape == (2, 10)
    output = np.zeros((2, 10), np.float32)
    output.flags.writeable = False
    with pytest.raises(vn.Usage, match="read-only"):
        session.bind("probabilities", output)


@pytest.mark.parametrize(
    "element_type, dtype",
    [(TensorProto.BFLOAT16, ml_dtypes.bfloat16), (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
     (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2), (TensorProto.INT4, ml_dtypes.int4), (TensorProto.UINT4, ml_dtypes.uint4),
     (TensorProto.FLOAT16, np.float16), (TensorProto.DOUBLE, np.float64), (TensorProto.INT64, np.int64), (TensorProto.BOOL, np.bool_),
     (TensorProto.UINT8, np.uint8), (TensorProto.INT16, np.int16)],
)  # fmt: skip
def test_element_types_come_and_go_as_they_are(tmp_path, element_type, dtype):
    session = identity(tmp_path, element_type)
    assert session.inputs[0].dtype == dtype
    x = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    (y,) = session.run(None, {"x": x})
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float64), x.astype(np.float64))
    bound = np.zeros_like(x)
    session.bind("x", x)
    session.bind("y", bound)
    session()
    np.testing.assert_array_equal(bound.astype(np.float64), x.astype(np.float64))
    with pytest.raises(vn.BadInput, match="'x'"):
        session.run(None, {"x": x.astype(np.int32)})


def test_bfloat16_computes_and_goes_out_by_dlpack(tmp_path):
    session = identity(tmp_path, TensorProto.BFLOAT16, "Relu")
    x = np.array([[-1.5, 1, 2], [3, -0.5, 0]]).astype(ml_dtypes.bfloat16)
    outputs = session({"x": x})
    np.testing.assert_array_equal(outputs["y"].astype(np.float32), np.maximum(x.astype(np.float32), 0))
    exported = outputs.dlpack("y")
    assert exported.__dlpack_device__() == (1, 0)
    again = session.run(None, {"x": exported})[0]  # the element type crosses by itself
    np.testing.assert_array_equal(again.astype(np.float32), outputs["y"].astype(np.float32))


def test_torch_tensors_come_and_go(tmp_path):
    torch = pytest.importorskip("torch")
    session = identity(tmp_path, TensorProto.BFLOAT16, "Relu")
    x = torch.tensor([[-1.5, 1, 2], [3, -0.5, 0]], dtype=torch.bfloat16)
    made = torch.from_dlpack(session({"x": x}).dlpack("y"))
    assert torch.equal(made, torch.relu(x))
    with pytest.raises(vn.Unsupported, match="strided"):
        session.run(None, {"x": torch.zeros(3, 2, dtype=torch.bfloat16).T})
    learnt = torch.ones(2, 3, requires_grad=True)
    assert identity(tmp_path, TensorProto.FLOAT).run(None, {"x": learnt})[0].sum() == 6


def test_what_is_no_array_or_of_no_type_is_said(session):
    for value, kind, why in (
        ([[1.0]], vn.Usage, "a list"),
        (1.0, vn.Usage, "a float"),
        (np.zeros((1, 1, 8, 8), ">f4"), vn.Unsupported, "byte order"),
        (np.zeros((1, 1, 8, 8), "datetime64[s]"), vn.Unsupported, "none of ONNX"),
        (np.zeros((1, 1, 8, 8)), vn.BadInput, "image"),
        (np.zeros((1, 3, 8, 8), np.float32), vn.BadInput, "image"),
    ):
        with pytest.raises(kind, match=why):
            session.run(None, {"image": value})
    with pytest.raises(vn.BadInput, match="picture"):
        session.run(None, {"picture": np.zeros((1, 1, 8, 8), np.float32)})
    with pytest.raises(KeyError, match="scores.*probabilities"):
        session({"image": np.zeros((1, 1, 8, 8), np.float32)})["scores"]


def test_sessions_of_one_engine_run_in_many_threads(digits, images):
    engine = vn.build(digits, verify=False, opt_level=0)
    sessions = [vn.Session(engine, threads=1) for _ in range(4)]
    expected = [sessions[0].run(None, {"image": images[i : i + 2]})[0].copy() for i in range(8)]
    wrong = []

    def work(session):
        for turn in range(200):
            i = turn % 8
            if not np.array_equal(session.run(None, {"image": images[i : i + 2]})[0], expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(each,)) for each in sessions]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


@pytest.fixture
def slow(tmp_path):
    """Half a second and more of products, one after the other."""
    nodes = [helper.make_node("MatMul", [f"x{i}", f"x{i}"], [f"x{i + 1}"], f"product{i}") for i in range(40)]
    path = save(tmp_path / "slow.onnx", nodes, [("x0", TensorProto.FLOAT, [1024, 1024])], [("x40", TensorProto.FLOAT, [1024, 1024])])
    session = vn.Session(path, threads=1, verify=False, opt_level=0)
    session.bind("x0", np.zeros((1024, 1024), np.float32))
    return session


def test_a_run_leaves_the_interpreter_to_others_and_is_alone(slow):
    counted, done, busy = 0, threading.Event(), []

    def run():
        slow()
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        counted += 1
        if counted == 100:
            for use in (slow, lambda: slow.bind("x0", np.zeros((1024, 1024), np.float32)), slow.run_async):
                try:
                    use()
                except vn.Busy:
                    busy.append(use)
        time.sleep(0.0005)
    thread.join()
    assert counted > 100 and len(busy) == 3


def test_a_run_under_way_is_cancelled(slow):
    event = slow.run_async()
    assert not event.ready
    slow.cancel()
    with pytest.raises(vn.Cancelled):
        event.wait()
    slow()  # ready for the next


def test_a_profile_names_kernels_and_nodes(session, images):
    session.bind("image", images[:1])
    layers = session.profile(2)
    assert {"stem_conv", "stem_bn"} & {node for layer in layers for node in layer.nodes}
    assert all(layer.kernel and layer.milliseconds >= 0 for layer in layers)
    assert session.memory_bytes > 0


def test_a_cache_grows_where_it_lies(tmp_path):
    nodes = [helper.make_node("Concat", ["past", "new"], ["present"], "append", axis=-2)]
    inputs = [("past", TensorProto.FLOAT, [1, "rows", 4]), ("new", TensorProto.FLOAT, [1, 1, 4])]
    path = save(tmp_path / "cache.onnx", nodes, inputs, [("present", TensorProto.FLOAT, [1, "more", 4])])
    session = vn.Session(path, threads=1, verify=False)
    cache = np.zeros((1, 8, 4), np.float32)
    session.bind_cache("past", "present", cache)
    for row in range(3):
        session({"new": np.full((1, 1, 4), row + 1, np.float32)})
    assert session.cache_rows("past") == 3
    np.testing.assert_array_equal(cache[0, :, 0], [1, 2, 3, 0, 0, 0, 0, 0])
    session.set_cache_rows("past", 1)
    assert session.cache_rows("past") == 1


def test_ten_thousand_runs_do_not_grow(session, images):
    small = images[:1]

    def run(times):
        for _ in range(times):
            session.run(None, {"image": small})
            session({"image": small})["probabilities"]

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    run(1000)
    gc.collect()
    before = resident()
    run(5000)
    gc.collect()
    assert resident() - before < 1 << 20


def test_an_engine_that_fails_its_verdict_is_no_file(digits):
    engine = vn.build(digits, inject_fault="residual")
    assert engine.verdict == "fail" and not engine
    with pytest.raises(vn.BadInput, match="fail"):
        vn.Session(engine)


def test_errors_carry_file_node_and_advice(tmp_path, digits):
    with pytest.raises(vn.BadInput) as caught:
        vn.Session(tmp_path / "nothing.onnx")
    assert caught.value.code == "bad_input" and caught.value.file == str(tmp_path / "nothing.onnx")
    damaged = tmp_path / "damaged.engine"
    damaged.write_bytes(b"VERNIER\n" + bytes(100))
    with pytest.raises(vn.BadInput) as caught:
        vn.Session(damaged)
    assert caught.value.file == str(damaged)
    unknown = save(tmp_path / "unknown.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], "frob")], [("x", TensorProto.FLOAT, [1])], [("y", TensorProto.FLOAT, [1])])
    with pytest.raises(vn.Unsupported) as caught:
        vn.build(unknown)
    assert caught.value.node == "frob" and caught.value.code == "unsupported"
    with pytest.raises(vn.Usage) as caught:
        vn.build(digits, tactics="-nothing")
    assert "winograd" in caught.value.advice and isinstance(caught.value, vn.VernierError)
    with pytest.raises(vn.Usage, match="bf17"):
        vn.build(digits, bf17=True)
