"""Defaults that depend on the provider: those of the demo, its model and its dataset, hold for rehearsals alone.

A scripted model costs nothing and knows one dataset; of all others a person has to say what they pay for.
"""

from pathlib import Path

from swetrials.errors import KnownError
from swetrials.hosting import PROVIDERS
from swetrials.records.config import RunnerConfig
from swetrials.store.documents import load_config
from swetrials.store.project import Project

BENCHMARK = "mcp-gateway-registry.yaml"
"""The dataset of the commands that are about a whole benchmark: many models, and what the router is told of tasks."""


OF_THE_DEMO = ("model", "dataset")
"""The keys whose default holds for rehearsals alone."""


class UnnamedError(KnownError):
    """A key that has no default for this provider was left out. Nothing was run."""


def lacks_default(config: RunnerConfig, key: str) -> bool:
    """Return whether no layer of the configuration gives a key of the demo's, and the provider is not the rehearsal."""
    return key in OF_THE_DEMO and key not in config.model_fields_set and not _scripted(config)


def check_model_named(config: RunnerConfig) -> None:
    """Raise where a model has to be named and is not.

    Raises:
        UnnamedError: the provider is not the rehearsal, and no layer of the configuration names a model.
    """
    if lacks_default(config, "model"):
        raise UnnamedError(f"model: provider {config.provider!r} has no default model: name one with --model")


def check_dataset_named(config: RunnerConfig) -> None:
    """Raise where a dataset has to be named and is not.

    Raises:
        UnnamedError: the provider is not the rehearsal, and no layer of the configuration names a dataset.
    """
    if lacks_default(config, "dataset"):
        raise UnnamedError(
            f"dataset: provider {config.provider!r} has no default dataset: name one with --dataset, "
            "such as dataset/quickstart.yaml"
        )


def with_quickstart(config: RunnerConfig, project: Project) -> RunnerConfig:
    """Return the configuration, with the project's own quickstart where no dataset is named and none lies here."""
    if "dataset" in config.model_fields_set or Path(config.dataset).exists():
        return config
    given = {key: getattr(config, key) for key in config.model_fields_set}
    return load_config(None, {}, {**given, "dataset": str(project.dataset / Path(config.dataset).name)})


def with_benchmark(config: RunnerConfig, project: Project) -> RunnerConfig:
    """Return the configuration, with the benchmark for a dataset where a provider other than the rehearsal has none."""
    if _scripted(config) or "dataset" in config.model_fields_set:
        return config
    given = {key: getattr(config, key) for key in config.model_fields_set}
    return load_config(None, {}, {**given, "dataset": project.dataset / BENCHMARK})


def _scripted(config: RunnerConfig) -> bool:
    return PROVIDERS.named(config.provider).scripted
