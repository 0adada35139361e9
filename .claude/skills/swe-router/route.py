#!/usr/bin/env python3
"""Pick the cheapest model that is good enough for a task, from measured runs.

    python3 route.py --tier medium --floor 70

Needs Python 3.8 or newer and nothing else. Prints one JSON object. Exit codes: 0 whatever ``status`` says (that nothing
clears the floor is an answer), 2 bad usage or a file that cannot be used, with one line on standard error.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

TIERS = ("trivial", "low", "medium", "high")
TIE_BAND = 3.0
"""Points within which two figures are told together, unless another band is asked for."""


class _Ranked(NamedTuple):
    """What models are ranked by: the name of its figure in models.json, and the words for it."""

    field: str
    name: str
    unit: str
    floor: str


RANKED = {
    "rubric": _Ranked("mean_score", "score", " points", "{:g} points"),
    "resolved": _Ranked("resolve_rate", "resolve rate", " % resolved", "a resolve rate of {:g} %"),
}
"""By ``rank_by`` of models.json: the score of a rubric, or in percent how many trials resolved their task."""

MOST_FIGURE = 1e12
"""Dollars, or trials: what is beyond it is a slip of whoever wrote it."""

HERE = Path(__file__).resolve().parent


class RouteError(Exception):
    """Something that the caller has to mend; the message is one line."""


# Names of models -----------------------------------------------------------------------------------------------------

_HINT = re.compile(r"\s*\[[^\]]*\]$")
_REVISION = re.compile(r"[-_.@]v1(?::\d+k?)*$")
# Only v1 is a mere revision: elsewhere (nemotron-nano-9b-v2) the number is the model's own.
_DATE = re.compile(r"[-_.@:](?:20\d{6}|20\d\d[-_.](?:0[1-9]|1[0-2])[-_.](?:[0-2]\d|3[01]))(?:[-_.]v\d+)?(?::\d+k?)*$")
_REGION = re.compile(r"^(?:us-gov|global|apac|us|eu|ap|jp|au|in|ca|sa|me|af)\.(?=[a-z])")
_VENDOR = re.compile(
    r"^(?:ai21|amazon|anthropic|bedrock|cohere|databricks|google|meta|microsoft|mistralai|moonshot(?:ai)?|nvidia|openai"
    r"|vertex(?:[_-]ai)?|x-?ai|z-?ai|zai-org)[-_.:]+(?=[a-z])"
)
# A vendor named like its models goes only where the model's own name follows: deepseek.v3.2 is called just that.
_VENDOR_AND_FAMILY = re.compile(r"^(?:(deepseek|minimax|qwen|mistral)[-_.:]+(?=\1)|mistral[-_.:]+(?=[a-z]*stral))")
_SEPARATORS = re.compile(r"[\s\-_.:@]+")


def name_key(name: str) -> str:
    """Return what the spellings of one model's name share: equal keys, same model.

    Path, region, vendor, date, revision and ``[...]`` hint go; so do separators and case. A separator between two
    digits stays, as that is what tells 3.5 from 35.

    >>> name_key("us.anthropic.claude-opus-5-20260101-v1:0[1m]") == name_key("anthropic/claude_opus.5")
    True
    >>> name_key("claude-opus-4-5") == name_key("claude-opus-45")
    False
    """
    rest = name.strip().lower().rstrip("/").rsplit("/", 1)[-1]
    rest = _HINT.sub("", rest)
    undated = _DATE.sub("", rest)
    rest = undated if undated != rest else _REVISION.sub("", rest)
    rest = _REGION.sub("", rest)
    rest = _VENDOR_AND_FAMILY.sub("", _VENDOR.sub("", rest))
    parts = [part for part in _SEPARATORS.split(rest) if part]
    key = ""
    for part in parts:
        key += "-" + part if key[-1:].isdigit() and part[0].isdigit() else part
    return key


class _Names:
    """What a name that somebody wrote means among the models that were measured."""

    def __init__(self, models: Iterable[str], aliases: Mapping[str, Sequence[str]]) -> None:
        self._models = {model: name_key(model) for model in models}
        self._groups: dict[str, tuple[str, frozenset[str]]] = {}
        for name, others in aliases.items():
            keys = frozenset(name_key(one) for one in (name, *others))
            for key in keys:
                if key in self._groups:
                    raise RouteError(f"aliases: {self._groups[key][0]!r} and {name!r} share a name")
                self._groups[key] = (name, keys)

    def meanings(self, name: str) -> list[str]:
        """Return the models that a name may mean: none where it was not measured, several where it is ambiguous."""
        exact = [model for model in self._models if model.lower() == name.strip().lower()]
        if exact:
            return exact
        key = name_key(name)
        same = [model for model, own in self._models.items() if own == key]
        if same or key not in self._groups:
            return sorted(same)
        return sorted(model for model, own in self._models.items() if own in self._groups[key][1])


# The rule ------------------------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """An allowed, available model with what is expected of it at the tier; what the answer says of it."""

    model: str
    score: float
    score_from: str
    margin: float
    cost_usd: float
    cost_from: str
    cost_is_lower_bound: bool
    completed: int | None
    trials: int | None
    completion_from: str
    hosting: str | None
    cost_basis: str | None
    frontier: Mapping[str, bool] | None


def route(
    models: Sequence[Mapping[str, Any]],
    *,
    tier: str,
    floor: float,
    allowed: Sequence[str] | None = None,
    available: Sequence[str] | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    tie_band: float = TIE_BAND,
    rank_by: str = "rubric",
) -> dict[str, Any]:
    """Return the cheapest model that is expected to reach the floor at the tier.

    Expected are a model's means at the tier; where it was not measured there, its means over everything. A model whose
    score or cost is unknown is no candidate, nor one that failed every trial at the tier, which has no score there; its
    resolve rate is 0. At equal cost the higher score is picked, at equal score too the name that sorts first.

    Args:
        models: as under ``models`` in models.json.
        tier: how hard the task is, one of ``TIERS``.
        floor: the score, or resolve rate, that is needed, 0 to 100.
        allowed: names of the models that may be used; ``None``: all.
        available: names of the models that can be had here; ``None``: all.
        aliases: further names of models.
        tie_band: points from the pick's score within which another model that clears the floor is told beside it.
        rank_by: what is called score here, one of ``RANKED``; as ``rank_by`` in models.json.

    Returns:
        ``status`` (``ok``, ``nothing_clears_floor`` or ``no_candidates``), ``reason`` (a sentence), ``recommended``
        (or ``None``), ``tied_with``, ``cleared_floor`` (cheapest first), ``below_floor`` (best first), ``margins``
        (points above the floor, by model), ``completion`` (by model), ``excluded`` (names, each with its reason) and
        ``notes`` (what a reader has to know, a sentence each).

    Raises:
        RouteError: tier, floor, band, aliases or what is ranked cannot be used.
    """
    _check_request(tier, floor, tie_band)
    ranked = _ranked(rank_by)
    excluded: dict[str, list[str]] = {}
    candidates = []
    for entry in _usable(models, allowed, available, aliases or {}, excluded):
        candidate = _expect(entry, tier, floor, ranked)
        if isinstance(candidate, str):
            _add(excluded, entry["model"], candidate)
        else:
            candidates.append(candidate)
    cleared = sorted((c for c in candidates if c.score >= floor), key=lambda c: (c.cost_usd, -c.score, c.model))
    below = sorted((c for c in candidates if c.score < floor), key=lambda c: (-c.score, c.cost_usd, c.model))
    pick = cleared[0] if cleared else None
    tied = [c for c in cleared[1:] if pick and abs(c.score - pick.score) <= tie_band]
    answer = {
        "status": "ok" if pick else "nothing_clears_floor" if below else "no_candidates",
        "reason": "",
        "rank_by": rank_by,
        "tier": tier,
        "floor": floor,
        "tie_band": tie_band,
        "recommended": pick._asdict() if pick else None,
        "tied_with": [c._asdict() for c in tied],
        "cleared_floor": [c._asdict() for c in cleared],
        "below_floor": [c._asdict() for c in below],
        "margins": {c.model: c.margin for c in cleared + below},
        "completion": {c.model: _completion(c) for c in cleared + below},
        "excluded": [{"model": name, "reason": "; ".join(whys)} for name, whys in sorted(excluded.items())],
        "notes": [
            *_exact_ties(cleared, ranked),
            *(note for c in cleared + below for note in _cautions(c, tier, ranked)),
        ],
    }
    answer["reason"] = _reason(answer, cleared, below, ranked)
    return answer


def _check_request(tier: str, floor: float, tie_band: float) -> None:
    if tier not in TIERS:
        raise RouteError(f"tier {tier!r} is none of {', '.join(TIERS)}")
    if not 0 <= floor <= 100:
        raise RouteError(f"floor {floor!r} is not between 0 and 100")
    if not (math.isfinite(tie_band) and tie_band >= 0):
        raise RouteError(f"tie band {tie_band!r} is not a number of points, 0 or more")


def _ranked(rank_by: str) -> _Ranked:
    if rank_by not in RANKED:
        raise RouteError(f"rank_by {rank_by!r} is none of {', '.join(RANKED)}")
    return RANKED[rank_by]


def _usable(
    models: Sequence[Mapping[str, Any]],
    allowed: Sequence[str] | None,
    available: Sequence[str] | None,
    aliases: Mapping[str, Sequence[str]],
    excluded: dict[str, list[str]],
) -> list[Mapping[str, Any]]:
    """Return the models that are allowed and available; of every other name, add to ``excluded`` why it is not."""
    names = _Names((entry["model"] for entry in models), aliases)
    usable = {entry["model"]: entry for entry in models}
    for wanted, listed, missing in (
        (allowed, "allowed", "not on the allow list"),
        (available, "available", "not among the available models"),
    ):
        if wanted is None:
            continue
        meant = set()
        for name in wanted:
            found = names.meanings(name)
            if not found:
                _add(excluded, name, f"{listed}, but not measured: there are no figures for it")
            elif len(found) > 1:
                _add(excluded, name, f"{listed}, but it may mean {' or '.join(found)}: write which")
            else:
                meant.add(found[0])
        for entry in models:
            if entry["model"] not in meant:
                _add(excluded, entry["model"], missing)
                usable.pop(entry["model"], None)
    return list(usable.values())


def _add(excluded: dict[str, list[str]], name: str, why: str) -> None:
    whys = excluded.setdefault(name, [])
    if why not in whys:
        whys.append(why)


def _expect(entry: Mapping[str, Any], tier: str, floor: float, ranked: _Ranked) -> _Candidate | str:
    """Return the candidate that a model makes at a tier, or the reason why it makes none."""
    at_tier = entry.get("tiers", {}).get(tier) or {}
    trials, completed = at_tier.get("trials"), at_tier.get("completed")
    if ranked is RANKED["rubric"] and trials and completed == 0:
        return f"none of its {trials} trials at {tier} was completed"
    score, score_from = _first_known(ranked.field, at_tier, entry)
    cost, cost_from = _first_known("mean_cost_usd", at_tier, entry)
    if score is None:
        return f"its {ranked.name} is unknown"
    if cost is None:
        stands = "clears" if score >= floor else "misses"
        return f"its cost is unknown, so it cannot be the cheapest; with {score:.1f}{ranked.unit} it {stands} the floor"
    counted, completion_from = (at_tier, "tier") if trials else (entry, "overall")
    return _Candidate(
        model=entry["model"],
        score=score,
        score_from=score_from,
        margin=round(score - floor, 6),
        cost_usd=cost,
        cost_from=cost_from,
        cost_is_lower_bound=bool((at_tier if cost_from == "tier" else entry).get("cost_is_lower_bound")),
        completed=counted.get("completed"),
        trials=counted.get("trials"),
        completion_from=completion_from,
        hosting=entry.get("hosting"),
        cost_basis=entry.get("cost_basis"),
        frontier=entry.get("frontier"),
    )


def _first_known(name: str, at_tier: Mapping[str, Any], overall: Mapping[str, Any]) -> tuple[float | None, str]:
    value = at_tier.get(name)
    return (value, "tier") if value is not None else (overall.get(name), "overall")


def _completion(candidate: _Candidate) -> dict[str, Any]:
    completed, trials = candidate.completed, candidate.trials
    share = completed / trials if trials and completed is not None else None
    return {"completed": completed, "trials": trials, "share": share, "from": candidate.completion_from}


# What has to be said -------------------------------------------------------------------------------------------------


def _cautions(candidate: _Candidate, tier: str, ranked: _Ranked) -> Iterator[str]:
    name, completed, trials = candidate.model, candidate.completed, candidate.trials
    if candidate.score_from == "overall":
        yield f"{name} has no {ranked.name} at {tier}: its mean over all tiers stands in"
    if candidate.cost_from == "overall":
        yield f"{name} has no cost at {tier}: its mean over all tiers stands in"
    apart = ranked is RANKED["rubric"]  # failures are in a resolve rate and in its costs
    if apart and trials and completed is not None and completed < trials:
        where = f"at {tier}" if candidate.completion_from == "tier" else "over all tiers"
        yield f"{name} failed {trials - completed} of {trials} trials {where}; its means leave these out"
    if candidate.cost_is_lower_bound:
        yield f"{name} costs at least what is said: part of its cost is a lower bound"


def _exact_ties(cleared: Sequence[_Candidate], ranked: _Ranked) -> Iterator[str]:
    for other in cleared[1:]:
        if other.cost_usd == cleared[0].cost_usd:
            same = other.score == cleared[0].score
            name = ranked.name
            why = f"{name} and cost are equal, the name decides" if same else f"equal cost, the higher {name} decides"
            yield f"exact tie of {cleared[0].model} and {other.model}: {why}"


def _reason(
    answer: Mapping[str, Any], cleared: Sequence[_Candidate], below: Sequence[_Candidate], ranked: _Ranked
) -> str:
    wanted = f"{ranked.floor.format(answer['floor'])} at {answer['tier']}"
    if cleared:
        count = f"cheapest of {len(cleared)} models that reach" if len(cleared) > 1 else "only model that reaches"
        return f"{_figures(cleared[0], ranked)} is the {count} {wanted}"
    if below:
        whom = f"none of {len(below)} models reaches" if len(below) > 1 else "the only model does not reach"
        return f"{whom} {wanted}; the nearest is {_figures(below[0], ranked)}"
    return f"no model is left to choose from; each of the {len(answer['excluded'])} under excluded has its reason"


def _figures(candidate: _Candidate, ranked: _Ranked) -> str:
    return f"{candidate.model} ({candidate.score:.1f}{ranked.unit}, ${candidate.cost_usd:.2f} a task)"


# Files ---------------------------------------------------------------------------------------------------------------


def load_models(path: Path) -> dict[str, Any]:
    """Return models.json as it stands; the models are under ``models``, where they are from under ``provenance``.

    Raises:
        RouteError: the file cannot be read, or holds anything but a figure where one belongs.
    """
    document = _read_json(path)
    version = document.get("schema_version")
    if not isinstance(version, str) or version.split(".")[0] != "1":
        raise RouteError(f"{path}: schema_version {version!r} is not understood, 1.x is")
    if document.get("rank_by", "rubric") not in list(RANKED):
        raise RouteError(f"{path}: rank_by {repr(document['rank_by'])[:40]} is none of {', '.join(RANKED)}")
    models = document.get("models")
    if not isinstance(models, list) or not models:
        raise RouteError(f"{path}: models is not a list of at least one model")
    seen: set[str] = set()
    for index, entry in enumerate(models):
        where = f"{path}: models[{index}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("model"), str) or not name_key(entry["model"]):
            raise RouteError(f"{where} has no model name")
        if entry["model"].lower() in seen:
            raise RouteError(f"{where}: {entry['model']} is there twice")
        seen.add(entry["model"].lower())
        _check_entry(where, entry)
    return document


def _check_entry(where: str, entry: Mapping[str, Any]) -> None:
    tiers = entry.get("tiers", {})
    if not isinstance(tiers, dict) or not all(isinstance(figures, dict) for figures in tiers.values()):
        raise RouteError(f"{where}.tiers is not figures by tier")
    limits = {
        **{ranked.field: 100.0 for ranked in RANKED.values()},
        **dict.fromkeys(("mean_cost_usd", "trials", "completed"), MOST_FIGURE),
    }
    for place, figures in [(where, entry), *((f"{where}.tiers.{tier}", tiers[tier]) for tier in tiers)]:
        for name, most in limits.items():
            value = figures.get(name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= value <= most):
                raise RouteError(f"{place}.{name}: {repr(value)[:40]} is no such figure")
        if figures.get("trials") is not None and (figures.get("completed") or 0) > figures["trials"]:
            raise RouteError(f"{place}: more trials were completed than there were")


def load_aliases(path: Path) -> dict[str, list[str]]:
    """Return the further names of models out of model-aliases.json.

    Raises:
        RouteError: the file cannot be read, or is not lists of names by name.
    """
    aliases = _read_json(path).get("aliases")
    if not isinstance(aliases, dict):
        raise RouteError(f"{path}: aliases is missing: lists of names, by name")
    for name, others in aliases.items():
        if not isinstance(others, list) or not all(isinstance(other, str) and name_key(other) for other in others):
            raise RouteError(f"{path}: aliases.{name} is not a list of names")
    return aliases


def load_allowed(path: Path) -> list[str]:
    """Return the names in an allow list: one a line, and ``#`` starts a comment.

    Raises:
        RouteError: the file is missing, cannot be read, or names no model.
    """
    if not path.exists():
        raise RouteError(f"there is no allow list {path}: write one, a model a line, or use --no-allow-list")
    lines = (line.split("#", 1)[0].strip() for line in _read(path).splitlines())
    names = [line for line in lines if line]
    if not names:
        raise RouteError(f"{path} names no model: add one a line, or use --no-allow-list")
    return names


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise RouteError(f"{path} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise RouteError(f"{path} is not a JSON object")
    return document


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RouteError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RouteError(f"{path} is not UTF-8") from None


# Command line --------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RouteError(message)


def _parser() -> _Parser:
    parser = _Parser(prog="route.py", description="Pick the cheapest model that is good enough.", allow_abbrev=False)
    parser.add_argument("--tier", required=True, choices=TIERS, help="how hard the task is")
    parser.add_argument("--floor", required=True, type=float, help="the score or resolve rate that is needed, 0 to 100")
    parser.add_argument("--available", type=_names, metavar="A,B", help="models that can be had here; default: all")
    listed = parser.add_mutually_exclusive_group()
    listed.add_argument("--allowed-file", type=Path, metavar="F", help="default: allowed-models.txt beside this file")
    listed.add_argument("--no-allow-list", action="store_true", help="allow every model that was measured")
    parser.add_argument("--tie-band", type=float, default=TIE_BAND, metavar="X", help="points; default: %(default)s")
    parser.add_argument("--models", type=Path, default=HERE / "models.json", metavar="F", help="measured figures")
    parser.add_argument("--aliases", type=Path, default=HERE / "model-aliases.json", metavar="F", help="further names")
    return parser


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no model")
    return names


def _strict_json(answer: Mapping[str, Any], models: Path) -> str:
    try:
        return json.dumps(answer, indent=2, allow_nan=False)
    except ValueError:
        raise RouteError(f"{models}: NaN or an infinity stands in it, and JSON has neither") from None


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        # Python would try once more at its end, and complain for itself.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # then whoever reads has enough
            raise RouteError(f"cannot write the answer: {error.strerror}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        given = _parser().parse_args(argv)
        document = load_models(given.models)
        answer = route(
            document["models"],
            tier=given.tier,
            floor=given.floor,
            allowed=None if given.no_allow_list else load_allowed(given.allowed_file or HERE / "allowed-models.txt"),
            available=given.available,
            aliases=load_aliases(given.aliases),
            tie_band=given.tie_band,
            rank_by=document.get("rank_by", "rubric"),
        )
        if document.get("rehearsal"):
            answer["notes"].insert(0, "the figures are of a rehearsal: they say nothing about real models")
        answer["provenance"] = document.get("provenance")
        _print(_strict_json(answer, given.models))
    except RouteError as error:
        print("route.py:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
