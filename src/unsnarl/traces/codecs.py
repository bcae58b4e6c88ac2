# SPDX-License-Identifier: Apache-2.0
"""How the blocks of a trace are compressed: zstd where there is one, else zlib.

zstd comes with Python 3.14 and with the extra `traces`; zlib is always there, at about half the
speed and nearly the same size (docs/adr/0079). A trace says which one it needs.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

LEVEL = 3
ZLIB_LEVEL = 1


class Codec(NamedTuple):
    """One way to compress a block.

    Attributes:
        decompress: The bytes, at most as many as are said; ValueError if there are others.
    """

    name: str
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes, int], bytes]


def best() -> Codec:
    """What traces are written with here."""
    return _zstd() or _zlib()


def named(name: str) -> Codec | None:
    """What a trace was written with; None if it is not installed here."""
    codec = _zlib() if name == "zlib" else _zstd() if name == "zstd" else None
    return codec if codec is not None and codec.name == name else None


def _zlib() -> Codec:
    return Codec("zlib", lambda data: zlib.compress(data, ZLIB_LEVEL), _unzlib)


def _unzlib(data: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, size)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return _whole(found, size, stream.eof)


def _whole(found: bytes, size: int, ended: bool) -> bytes:
    if len(found) != size or not ended:
        raise ValueError("a block has another length than it says")
    return found


def _zstd() -> Codec | None:
    return _standard_zstd() or _installed_zstd()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _standard_zstd() -> Codec | None:
    """That of Python itself, from 3.14 on."""
    zstd = _module("compression.zstd")
    if zstd is None:
        return None

    def decompress(data: bytes, size: int) -> bytes:
        stream = zstd.ZstdDecompressor()
        try:
            found = stream.decompress(data, size)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from None
        return _whole(found, size, stream.eof)

    return Codec("zstd", lambda data: bytes(zstd.compress(data, LEVEL)), decompress)


def _installed_zstd() -> Codec | None:
    """That of the extra."""
    zstandard = _module("zstandard")
    if zstandard is None:
        return None

    def decompress(data: bytes, size: int) -> bytes:
        try:
            # Asked before: a frame that promises gigabytes would be given them.
            if zstandard.frame_content_size(data) != size:
                raise ValueError("a block has another length than it says")
            return bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=size))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None

    compressor = zstandard.ZstdCompressor(level=LEVEL)
    return Codec("zstd", lambda data: bytes(compressor.compress(data)), decompress)
