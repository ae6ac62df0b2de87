"""Keywords of the Python interface are settings."""

from __future__ import annotations

import pytest

from mtlv.api.arguments import as_settings
from mtlv.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "own"), [("lr", "learning_rate"), ("num_train_epochs", "epochs"), ("epoch", "epochs")]
)
def test_a_name_of_another_library_leads_to_ours(given: str, own: str) -> None:
    with pytest.raises(ConfigError, match=f"argument `{given}`: no setting .* did you mean `{own}`"):
        as_settings({given: 1}, "training")


def test_the_section_of_a_function_takes_precedence() -> None:
    assert as_settings({"seed": 1}, "grouping") == {"grouping.seed": 1}
    assert as_settings({"seed": 1}, "training") == {"seed": 1}
