"""Copies the example configs into the package; all metadata is in pyproject.toml."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExamples(build_py):
    """Adds the folder `config` as `mtlv/examples`; an editable install reads it where it is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copytree("config", Path(self.build_lib) / "mtlv" / "examples", dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithExamples})
