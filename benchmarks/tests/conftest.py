"""How thoroughly properties are tried: ``make test`` looks at fewer examples of each than ``make test-rest``."""

from hypothesis import settings

settings.register_profile("quick", max_examples=25)
