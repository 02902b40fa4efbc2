"""Tables that outgrow the bits they are packed into are noticed."""

import pytest

from alem_env.core.values import check_bits


@pytest.mark.parametrize("largest, bits", [(64, 6), (8, 3), (-1, 6)])
def test_what_does_not_fit_is_named(largest, bits):
    with pytest.raises(ValueError, match=f"a block may be {largest}, which {bits} bits"):
        check_bits("a block", largest, bits)


def test_what_fits_passes():
    check_bits("a block", 63, 6)
