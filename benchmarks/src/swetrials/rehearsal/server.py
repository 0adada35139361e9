"""The rehearsal server: replaces the remote model, and nothing else."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from swetrials.records.usage import UsageReport
from swetrials.rehearsal.access import AccessDenied, Guard, anyone, credential
from swetrials.rehearsal.anthropic import AnthropicSpeaker
from swetrials.rehearsal.bedrock import InvokeModel
from swetrials.rehearsal.bedrock_converse import ConverseSpeaker
from swetrials.rehearsal.conversation import BadRequest
from swetrials.rehearsal.delivery import Delivery
from swetrials.rehearsal.faults import UNHEARD, FaultCounter, Performance, refuse, stage
from swetrials.rehearsal.ledger import Entry, ServedLedger, ServedRequest
from swetrials.rehearsal.listener import HOST, Listener, bind
from swetrials.rehearsal.openai_chat import OpenAIChatSpeaker
from swetrials.rehearsal.openai_responses import OpenAIResponsesSpeaker
from swetrials.rehearsal.play import find_cue, perform
from swetrials.rehearsal.scenario import Scenario
from swetrials.rehearsal.speaker import Speaker

_SINCE = ("2026-01-01T00:00:00Z", 1_767_225_600)


class RehearsalServer:
    """A scripted model behind every dialect.

    Which step comes next is told from each request alone, so retries, reconnects and proxies do no harm. Any
    model name is served, and any API key unless there is a guard; what is served is kept per key.
    """

    def __init__(self, scenario: Scenario, model: str, context_window: int, guard: Guard) -> None:
        self._scenario = scenario
        self._model = model
        self._context_window = context_window
        self._guard = guard
        self._faults = FaultCounter()
        self._ledger = ServedLedger()
        self._listener = Listener(self._application())
        self._port = 0

    @property
    def base_url(self) -> str:
        """Where the server listens, without ``/v1``."""
        return f"http://{HOST}:{self._port}"

    @property
    def requests(self) -> list[ServedRequest]:
        """Every request for a model response, in the order of their arrival."""
        return self._ledger.requests

    def served(self, api_key: str) -> UsageReport:
        """Return what was really sent to one API key; ``requests`` counts the failed ones, too.

        On Bedrock the key is the bearer token, or the id of the access key that signed.
        """
        return self._ledger.report(api_key)

    @asynccontextmanager
    async def _running(self, port: int) -> AsyncIterator[None]:
        listening = bind(port)
        self._port = listening.getsockname()[1]
        listening.listen()
        async with anyio.create_task_group() as group:

            async def serve() -> None:
                # A cancelled host still gets the server's orderly end: connections and socket closed.
                with anyio.CancelScope(shield=True):
                    await self._listener.serve(sockets=[listening])

            group.start_soon(serve)
            try:
                yield
            finally:
                self._listener.should_exit = True

    def _application(self) -> ASGIApp:
        calls: dict[str, Callable[[Request], Speaker]] = {
            "/v1/messages": lambda _: AnthropicSpeaker(),
            "/v1/chat/completions": lambda _: OpenAIChatSpeaker(),
            "/v1/responses": lambda _: OpenAIResponsesSpeaker(),
            # Where Bedrock serves OpenAI's models: /openai/v1, at bedrock-mantle and bedrock-runtime alike.
            "/openai/v1/responses": lambda _: OpenAIResponsesSpeaker(),
            "/model/{model:path}/invoke": lambda call: InvokeModel(_model(call), streaming=False),
            "/model/{model:path}/invoke-with-response-stream": lambda call: InvokeModel(_model(call), streaming=True),
            "/model/{model:path}/converse": lambda call: ConverseSpeaker(_model(call), streaming=False),
            "/model/{model:path}/converse-stream": lambda call: ConverseSpeaker(_model(call), streaming=True),
        }
        return Starlette(
            routes=[
                *(Route(path, self._answering(speaker), methods=["POST"]) for path, speaker in calls.items()),
                Route("/v1/messages/count_tokens", _count_tokens, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/health", _health),
            ]
        )

    def _answering(self, speaker_for: Callable[[Request], Speaker]) -> Callable[[Request], Awaitable[Delivery]]:
        async def answer(request: Request) -> Delivery:
            speaker = speaker_for(request)
            entry = Entry(credential(request), request.url.path, speaker.dialect)
            self._ledger.add(entry)
            try:
                data = await request.body()
                self._guard(request, data)
                performance = self._prepare(_body(data), speaker, entry)
            except AccessDenied as error:
                performance = refuse(speaker, 401, str(error))
            except BadRequest as error:
                performance = refuse(speaker, 400, str(error))
            except ClientDisconnect:
                performance = UNHEARD
            entry.bill = performance.bill
            return Delivery(performance, entry, self._listener.hang_up)

        return answer

    def _prepare(self, body: dict[str, Any], speaker: Speaker, entry: Entry) -> Performance:
        conversation = speaker.read(body)
        cue = find_cue(self._scenario, conversation, entry.api_key)
        entry.model, entry.stream, entry.max_tokens = conversation.model, conversation.stream, conversation.max_tokens
        entry.script, entry.step = cue.script.when if cue.script else None, cue.step
        fault = self._faults.strike(entry.api_key, cue)
        performance = stage(fault, perform(cue, conversation), conversation, speaker)
        return performance.at_pace(self._scenario.seconds_per_token)

    async def _models(self, request: Request) -> JSONResponse:
        """List the one model, in a shape that both Anthropic's and OpenAI's clients read."""
        iso, unix = _SINCE
        model = {
            "id": self._model,
            "object": "model",
            "type": "model",
            "display_name": self._model,
            "created": unix,
            "created_at": iso,
            "owned_by": "swetrials",
            "max_model_len": self._context_window,
        }
        pages = {"first_id": self._model, "last_id": self._model, "has_more": False}
        return JSONResponse({"object": "list", "data": [model], **pages})


@asynccontextmanager
async def rehearse(
    scenario: Scenario,
    port: int = 0,
    model: str = "rehearsal",
    context_window: int = 200_000,
    guard: Guard = anyone,
) -> AsyncIterator[RehearsalServer]:
    """Serve a scenario on loopback for as long as the context lasts.

    Args:
        scenario: what the scripted model does.
        port: where to listen; 0 takes any free port.
        model: the id that ``/v1/models`` lists; requests may name any.
        context_window: the tokens that ``/v1/models`` gives as ``max_model_len``.
        guard: refuses the requests whose credentials are not good.

    Raises:
        OSError: the port is taken.
    """
    server = RehearsalServer(scenario, model, context_window, guard)
    async with server._running(port):
        yield server


async def _count_tokens(request: Request) -> JSONResponse:
    speaker = AnthropicSpeaker()
    try:
        conversation = speaker.read(_body(await request.body()))
    except BadRequest as error:
        return JSONResponse(speaker.error(400, str(error)).body, 400)
    return JSONResponse({"input_tokens": conversation.prompt.total})


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _model(call: Request) -> str:
    """Return the model that a path names; an ARN's slash and a hint's brackets are percent-encoded there."""
    return str(call.path_params["model"])


def _body(data: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    return body
