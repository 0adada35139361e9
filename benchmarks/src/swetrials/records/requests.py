"""``requests.jsonl``: one line for each API request that the meter saw pass, and what they come to."""

from collections import Counter

from pydantic import Field

from swetrials.records.record import Record
from swetrials.records.usage import Usage, UsageReport


class PriceTerms(Record):
    """What an answer says of its own price, beside its tokens and its model. Spellings and sources: docs/usage.md."""

    service_tier: str | None = Field(None, description="standard, priority, batch, ...; null: not told")
    speed: str | None = Field(None, description="standard, fast; null: not told")
    inference_geo: str | None = Field(None, description="where the vendor ran it, when that has a price")
    server_tools: dict[str, int] = Field({}, description="uses of tools that the server runs, by its own names")
    reported_usd: float | None = Field(None, ge=0, description="the price that the answer itself states")


class BilledPart(Record):
    """Calls of a model that share one price: the same model answered, at the same terms."""

    model: str | None = Field(description="the one that answered; of an answer that names none, the one asked for")
    terms: PriceTerms = PriceTerms()
    calls: int = Field(ge=0)
    usage: UsageReport = UsageReport()
    longest_input: int | None = Field(
        None,
        exclude_if=lambda longest: longest is None,
        description="the longest prompt of one call, since long ones may cost more; absent: a prompt is not known",
    )


class RequestRecord(Record):
    """One request and its response, without their bodies. Times are seconds since the attempt began."""

    number: int = Field(ge=1, description="in the order of their starts")
    method: str
    path: str
    dialect: str | None = Field(description="None: not a call of a model")
    started_seconds: float
    first_byte_seconds: float | None = Field(None, description="first byte of the response's body")
    last_byte_seconds: float | None = Field(None, description="last byte of the response's body so far")
    ended_seconds: float
    status: int | None = Field(None, description="None: no response came")
    retry_after_seconds: float | None = Field(None, ge=0, description="how long the endpoint asks to be left alone")
    stream: bool = False
    model_asked: str | None = None
    model_served: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = Field(None, description="as the response tells it, made disjoint; None: it does not tell")
    price_terms: PriceTerms | None = Field(
        None,
        exclude_if=lambda terms: terms is None,
        description="what the response says of its price besides; absent: nothing",
    )
    usage_doubts: tuple[str, ...] = Field(
        (),
        exclude_if=lambda doubts: not doubts,
        description="checks that the counts do not pass; absent: none",
    )
    complete: bool = Field(False, description="the response came to its own end")
    probe: bool = Field(False, description="a call for one token that an agent makes to look at its endpoint")
    retry: bool = Field(False, description="the same body as a request that had failed")
    request_bytes: int = Field(0, description="of the body, as sent on; 0 with no status: nothing was sent")
    response_bytes: int = 0
    refused: bool = Field(False, description="came without the attempt's secret, and was not passed on")
    error: str = ""


class RequestsBlock(Record):
    """What the requests of an attempt or a trial come to."""

    count: int = Field(0, description="requests passed on to the route")
    turns: int = Field(0, description="answered calls of a model, probes apart")
    probes: int = 0
    retries: int = 0
    refused: int = Field(0, description="requests without the attempt's secret; they are in no other figure here")
    statuses: dict[str, int] = Field({}, description="requests by HTTP status; 'none' where no response came")
    models_served: tuple[str, ...] = ()
    api_seconds: float | None = Field(None, description="union of the requests' intervals")
    waiting_seconds: float | None = Field(
        None, description="between a failed request and the next one, or the end of the attempt"
    )
    first_token_seconds_median: float | None = None
    usage: UsageReport = UsageReport()
    usage_doubts: dict[str, int] = Field(
        {}, exclude_if=lambda doubts: not doubts, description="calls by the check that their counts do not pass"
    )
    parts: tuple[BilledPart, ...] = Field((), description="the same usage by what it is billed as; probes among it")

    @property
    def server_tools(self) -> dict[str, int]:
        """How often the endpoint's server ran tools of its own for the model, by its names of them."""
        uses: Counter[str] = Counter()
        for part in self.parts:
            uses.update(part.terms.server_tools)
        return dict(sorted(uses.items()))
