"""Arrays in memory of a device, which sessions read and write where they lie."""

import numpy as np
import pytest
import vernier_engine as vn


@pytest.fixture
def session(digits):
    return vn.Session(digits, threads=1, verify=False, opt_level=0)


@pytest.fixture
def on_device(digits):
    return vn.Session(vn.build(digits, verify=False, opt_level=0, simulated=3), threads=1)


def test_arrays_of_a_device_are_read_and_written_where_they_lie(on_device, session, images):
    expected = session({"image": images[:2]})["probabilities"]
    image, scores = on_device.device_array("simulated:3", (2, 1, 8, 8)), on_device.device_array("simulated:3", (2, 10))
    assert image.__dlpack_device__() == (12, 3)
    image.copy_from(images[:2])
    np.testing.assert_array_equal(image.numpy(), images[:2])
    on_device.bind("probabilities", scores)
    outputs = on_device({"image": image})
    np.testing.assert_allclose(scores.numpy(), expected, atol=1e-5)
    with pytest.raises(vn.Unsupported, match="memory of simulated:3 is no array of numpy"):
        outputs["probabilities"]
    assert outputs.dlpack("probabilities").__dlpack_device__() == (12, 3)
    on_device.synchronize()
    on_device.unbind("probabilities")
    np.testing.assert_allclose(on_device({"image": image})["probabilities"], expected, atol=1e-5)


def test_memory_of_devices_that_an_engine_lacks_is_refused(on_device, session, images):
    image = on_device.device_array("simulated:3", (1, 1, 8, 8))
    with pytest.raises(vn.Usage, match="no device 'simulated:3'"):
        session({"image": image})
    with pytest.raises(vn.BadInput, match="same type and sizes"):
        image.copy_from(images[:2])
    with pytest.raises(vn.Usage, match="no device 'cuda:0'"):
        on_device.device_array("cuda", (1,))
    with pytest.raises(vn.Unsupported, match="no queue but its own"):
        on_device.use_stream("simulated:3", 0)
