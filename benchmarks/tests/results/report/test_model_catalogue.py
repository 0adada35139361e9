"""The catalogue of self-hosted models: current, and complete."""

from swetrials.records.models import ModelRegistry
from swetrials.results.report.model_catalogue import catalogue_markdown, catalogue_text
from swetrials.store.documents import load_document
from swetrials.store.project import find_project

PROJECT = find_project()
REGISTRY = load_document(PROJECT.config / "models.yaml", ModelRegistry)


def test_the_published_catalogue_is_current() -> None:
    published = (PROJECT.root.parent / "docs" / "models.md").read_text(encoding="utf-8")
    assert published == catalogue_markdown(REGISTRY), "make docs writes it anew"


def test_the_fit_key_names_every_machine_and_what_fits_it() -> None:
    text = catalogue_markdown(REGISTRY)
    key = text[text.index("## Fit key") : text.index("## Windows")]
    for machine in REGISTRY.hardware:
        [row] = [line for line in key.splitlines() if line.startswith(f"| {machine.key} |")]
        assert machine.instance in row
        fitting = row.split(" | ")[-1].removesuffix(" |").split(", ")
        assert fitting == [
            model.served_name for model in REGISTRY.models if machine.key in {fit.hardware for fit in model.fits}
        ]


def test_what_differs_on_some_hardware_is_said() -> None:
    text = catalogue_text(REGISTRY)
    assert "qwen3-coder-next  200,000  8xL40S (8 GPUs); 4xL40S (16,384 tokens only)" in text
    assert "minimax-m2.5      196,608  8xH200 (4 of its GPUs)" in text
    assert len(text.splitlines()) == len(REGISTRY.models) + 1
