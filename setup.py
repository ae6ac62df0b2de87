"""Shim for tools that still ask for it: all metadata is in pyproject.toml."""

from setuptools import setup

setup()
