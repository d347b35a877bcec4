"""Plugins of TensorRT are refused, and scripts that only ask what there is get an empty registry."""

from __future__ import annotations

from typing import Any

from ._strict import NotOffered, Strict

_HOW = "a plugin of TensorRT is compiled for its own kernels, and Vernier takes no plugins yet: write the operator in those of ONNX"


class _Refused:
    """A class that scripts derive from in TensorRT."""

    def __init_subclass__(cls, **_: Any) -> None:
        if getattr(cls, "__module__", "") != __name__:
            raise NotOffered(f"{cls.__name__} is derived from {cls.__mro__[1].__name__}: {_HOW}")

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotOffered(f"{type(self).__name__}: {_HOW}")


# fmt: off
class IPluginV2(_Refused): """Refused."""
class IPluginV2Ext(_Refused): """Refused."""
class IPluginV2IOExt(_Refused): """Refused."""
class IPluginV2DynamicExt(_Refused): """Refused."""
class IPluginV3(_Refused): """Refused."""
class IPluginV3OneCore(_Refused): """Refused."""
class IPluginV3OneBuild(_Refused): """Refused."""
class IPluginV3OneRuntime(_Refused): """Refused."""
class IPluginCreator(_Refused): """Refused."""
class IPluginCreatorV3One(_Refused): """Refused."""
class PluginField(_Refused): """Refused."""
class PluginFieldCollection(_Refused): """Refused."""
# fmt: on


class IPluginRegistry(Strict):
    """Holds nothing."""

    _refused = {name: _HOW for name in ("register_creator", "deregister_creator", "load_library", "deregister_library", "acquire_plugin_resource")}

    def __init__(self) -> None:
        self.plugin_creator_list: list[Any] = []
        self.all_creators: list[Any] = []

    plugin_creator_list: Any = ()
    all_creators: Any = ()

    def get_plugin_creator(self, type: str, version: str, plugin_namespace: str = "") -> None:  # noqa: A002 (TensorRT calls it so)
        """There is none."""
        del type, version, plugin_namespace

    get_creator = get_plugin_creator


def get_plugin_registry() -> IPluginRegistry:
    """Empty."""
    return IPluginRegistry()


def init_libnvinfer_plugins(logger: Any, namespace: str) -> bool:
    """There is nothing to start."""
    del logger, namespace
    return True
