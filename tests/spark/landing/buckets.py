"""Buckets of moto's server, a mock of S3, as targets of landings."""

from __future__ import annotations

import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.sources.stores.gate import Gate

#: What no output may have.
SECRET = "hunter2-hunter2"
_VARIABLES = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION")


@contextmanager
def bucket(gate: Gate) -> Iterator[str]:
    """A new bucket, as ``s3://name``, which the environment opens."""
    with pytest.MonkeyPatch.context() as patched:
        for name in _VARIABLES:
            patched.delenv(name, raising=False)
        patched.setenv("AWS_ACCESS_KEY_ID", "me-and-me")
        patched.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patched.setenv("AWS_REGION", "us-east-1")
        patched.setenv("AWS_ENDPOINT_URL", gate.server)
        patched.setenv("AWS_ALLOW_HTTP", "true")
        name = f"b{uuid.uuid4().hex[:12]}"
        make = urllib.request.Request(f"{gate.server}/{name}", method="PUT")
        urllib.request.urlopen(make).close()
        yield f"s3://{name}"


def file_system(gate: Gate) -> Any:
    """fsspec's way to its buckets, beside deltalake's."""
    import fsspec

    found = fsspec.filesystem("s3", key="other", secret="other", endpoint_url=gate.endpoint)
    found.invalidate_cache()
    return found
