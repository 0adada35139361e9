#!/usr/bin/env python3
"""An agent of one's own: ``swetrials run --agent own_agent:Scribe``, from the folder of this file.

It asks the model once and writes the answer down under every name that a trial has to leave. The first half of the
file is what swetrials needs to know of an agent. The second half is the agent itself, a program like any other.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

DOCUMENTS = ("github-issue.md", "lld.md", "review.md", "testing.md", "implementation.md")

if __name__ != "__main__":
    from swetrials import End, Launch, Outcome, OutcomeKind, Program, RequestUsage, Session, Text, Usage

    class Scribe:
        """Says how the program below is started, and reads what it prints."""

        name = folder = "scribe"
        dialects = frozenset({"anthropic"})
        limits = ("it asks once, and has no tools",)
        server_tools = frozenset()
        package = Program("scribe", "1.0", Path(__file__))

        def launch(self, binary, job):
            route = job.route
            environment = {"SCRIBE_URL": route.base_url, "SCRIBE_KEY": route.api_key.get_secret_value()}
            prompt = job.home / "prompt.txt"
            argv = (str(binary), route.model, str(job.artifacts))
            return Launch(argv, environment, {prompt: job.prompt}, stdin=prompt)

        def reader(self):
            return Reader()

        def recognises(self, line):
            return "scribe" in line

        def check_settings(self, path):
            raise ValueError("scribe takes no settings")

    class Reader:
        """Turns the program's one line into events."""

        def __init__(self):
            self.data = b""

        def feed(self, data):
            self.data += data
            return ()

        def finish(self):
            try:
                said = json.loads(self.data)["scribe"]
            except ValueError:  # it was stopped before it had said all
                return
            told = said["usage"]
            usage = Usage(
                fresh_input=told["input_tokens"],
                cache_read=told["cache_read_input_tokens"],
                cache_write=told["cache_creation_input_tokens"],
                output=told["output_tokens"],
            )
            yield Session(session_id=said["id"], model=said["model"])
            yield RequestUsage(said["id"], usage, final=True)
            yield Text(said["text"])
            yield End(outcome=Outcome.of(OutcomeKind.COMPLETED), usage=usage, turns=1, text=said["text"])


def main(model, artifacts):
    """Ask, write the documents, say what it took."""
    question = {"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": sys.stdin.read()}]}
    request = urllib.request.Request(
        f"{os.environ['SCRIBE_URL']}/v1/messages",
        json.dumps(question).encode(),
        {
            "x-api-key": os.environ["SCRIBE_KEY"],
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
    for name in DOCUMENTS:
        Path(artifacts, name).write_text(f"# {name}\n\n{text}\n")
    Path("NOTES.md").write_text(f"{text}\n")
    said = {"id": answer["id"], "model": answer["model"], "text": text, "usage": answer["usage"]}
    print(json.dumps({"scribe": said}))


if __name__ == "__main__":
    main(*sys.argv[1:])
