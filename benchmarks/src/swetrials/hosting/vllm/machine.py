"""What kind of machine this is, as its firmware tells."""

from pathlib import Path

_FIRMWARE = Path("/sys/devices/virtual/dmi/id")
_AMAZON = "Amazon EC2"


def instance_type(firmware: Path = _FIRMWARE) -> str | None:
    """Return the cloud's name for this machine, such as ``g6e.12xlarge``; ``None`` where nothing tells it.

    On EC2's Nitro system the firmware's vendor is ``Amazon EC2`` and its product name the instance type. No request
    leaves the machine for it.
    """
    try:
        vendor = (firmware / "sys_vendor").read_text(encoding="utf-8").strip()
        product = (firmware / "product_name").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return product if vendor == _AMAZON and "." in product else None
