"""What the parts of a record that the statistics read have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_MOST = 10**12
Points = Annotated[float, Field(ge=0, le=100)]
Dollars = Annotated[float, Field(ge=0, le=_MOST)]
Seconds = Annotated[float, Field(ge=-_MOST, le=_MOST)]
Count = Annotated[int, Field(ge=0, le=_MOST)]
"""What is beyond these is a slip of whoever wrote it, and would outweigh everything else in a mean, or burst it."""


class RecordPart(BaseModel):
    """A part of a record: what else there is in it is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=(), allow_inf_nan=False)
