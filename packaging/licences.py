"""Refuse what may not be shipped: whatever gradbag brings along, in Python and in its page, has a free licence."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

WEB = Path(__file__).parent.parent / "web"
FREE = re.compile(
    r"\b(MIT|ISC|BSD|Apache|PSF|Python Software Foundation|0BSD|Zlib|CC0|Unlicense|MPL-2\.0)\b", re.IGNORECASE
)


def python_packages() -> dict[str, str]:
    """What `pip install gradbag[studio]` brings along, and its licences."""
    found: dict[str, str] = {}
    waiting = ["gradbag[studio]"]
    while waiting:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,-]*)\])?", waiting.pop()).groups()  # type: ignore[union-attr]
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another system or Python
            continue
        if name in found and not extras:
            continue
        data = package.metadata
        classified = [line for line in data.get_all("Classifier") or () if line.startswith("License ::")]
        found[name] = " ".join([data.get("License-Expression") or "", (data.get("License") or "")[:80], *classified])
        for line in package.requires or ():
            wanted, _, condition = line.partition(";")
            extra = re.search(r"extra == ['\"]([\w-]+)['\"]", condition)
            if extra is None or (extras and extra[1] in extras.split(",")):
                waiting.append(wanted.strip())
    return found


def web_packages() -> dict[str, str]:
    """What the page of the studio carries, by its lock file."""
    packages = json.loads((WEB / "package-lock.json").read_text("utf-8"))["packages"]
    return {
        place.rpartition("node_modules/")[2]: str(package.get("license", ""))
        for place, package in packages.items()
        if place and not package.get("dev") and not package.get("optional")
    }


def main() -> int:
    wrong = 0
    for kind, packages in (("Python", python_packages()), ("JavaScript", web_packages())):
        for name, licence in sorted(packages.items()):
            free = FREE.search(licence) is not None
            wrong += not free
            print(f"{'' if free else 'NOT FREE '}{kind}: {name}: {licence.strip()[:60] or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
