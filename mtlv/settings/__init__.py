"""Settings of a config file, checked, as frozen typed values; `defaults.yml` is the reference."""

from mtlv.settings.describe import dump, flatten
from mtlv.settings.expand import value_at
from mtlv.settings.load import Suite, default_settings, load_overrides, load_suite
from mtlv.settings.members import Member
from mtlv.settings.schema import Settings

__all__ = [
    "Member",
    "Settings",
    "Suite",
    "default_settings",
    "dump",
    "flatten",
    "load_overrides",
    "load_suite",
    "value_at",
]
