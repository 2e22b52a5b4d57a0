"""``make dist``: the sdist, and a wheel for every Linux since glibc 2.17, in dist/.

The wheel is built from the sdist by Zig's C compiler, which links against an old glibc wherever it
runs. auditwheel then checks that it needs nothing else, and names it manylinux. One wheel serves
Python 3.11 and later (abi3).
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tools import kernel_build

__all__ = ["make"]

ROOT = Path(__file__).resolve().parents[1]
GLIBC = (2, 17)


def make(out: Path) -> tuple[Path, Path]:
    """The sdist and the wheel, both in ``out``, made by the tools of this interpreter."""
    out.mkdir(parents=True, exist_ok=True)
    sdist = out / kernel_build.build_sdist(str(out))
    with tempfile.TemporaryDirectory() as name:
        plain = Path(name) / "plain"
        _run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(plain), str(sdist))
        (built,) = plain.glob("*.whl")
        tag = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{platform.machine()}"
        fit = Path(name) / "fit"
        _run("-m", "auditwheel", "repair", "--plat", tag, "--wheel-dir", str(fit), str(built))
        (repaired,) = fit.glob("*.whl")
        return sdist, Path(shutil.move(repaired, out / repaired.name))


def _run(*arguments: str) -> None:
    """Python with this interpreter's tools on the PATH, and Zig as the C compiler."""
    found = find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("ziglang is not installed: pip install --group release")
    zig = shlex.quote(str(Path(found.submodule_search_locations[0], "zig")))
    target = f"{platform.machine()}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    compiler = f"{zig} cc -target {target}"
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": " ".join([os.environ.get("CFLAGS", "-O3"), *kernel_build.ZIG_FLAGS]),
    }
    subprocess.run([sys.executable, *arguments], check=True, env=env)


if __name__ == "__main__":
    os.chdir(ROOT)
    for made in make(Path("dist")):
        print(made)
