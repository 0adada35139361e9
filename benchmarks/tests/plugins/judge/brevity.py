"""A judge of somebody else's: a patch of at most a hundred lines passes."""

import hashlib
from datetime import UTC, datetime

from swetrials import Check, TestsEvaluation


class Brevity:
    name = label = "brevity"
    kind = "tests"

    def __init__(self, settings):
        pass

    def scored_sha256(self, submission):
        return hashlib.sha256(b"at most 100 lines").hexdigest()

    def asks(self, submission):
        return False

    async def score(self, submission, context, log):
        lines = (submission.patch or b"").count(b"\n")
        return TestsEvaluation(
            status="scored",
            passed=0 < lines <= 100,
            fraction=float(0 < lines <= 100),
            patch_applied=True,
            evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    async def prove(self, context):
        return Check("judge brevity", "ok", "counts lines")
