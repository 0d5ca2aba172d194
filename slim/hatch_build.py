"""What tacit-dp-slim depends on: the same as tacit-dp, less what only releases need."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELEASES = ("opendp",)
EXTRAS = ("files", "plot", "postgres", "serve", "client")  # of machines that only decide


class SlimMetadataHook(MetadataHookInterface):
    """Takes the requirements from the project file of tacit-dp, so that there is one list."""

    def update(self, metadata: dict[str, Any]) -> None:
        file = Path(self.root).parent / "pyproject.toml"
        project = tomllib.loads(file.read_text())["project"]
        needed = project["dependencies"]
        metadata["dependencies"] = [each for each in needed if not each.startswith(RELEASES)]
        extras = project["optional-dependencies"]
        metadata["optional-dependencies"] = {name: extras[name] for name in EXTRAS}
