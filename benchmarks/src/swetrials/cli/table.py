"""The commands by what one wants. ``swetrials --help`` is written from this alone; a test holds it to the commands."""

from swetrials.cli.lean import CommandEntry

SECTIONS = {
    "Set up": {
        "doctor": CommandEntry(
            "doctor", "Check agent, provider and model; spends nothing. Exit code 3 when something is in the way."
        ),
        "matrix": CommandEntry("matrix", "Show which agent works with which provider, and why not."),
        "agents": CommandEntry("agents", "Install and list agent CLIs."),
        "config": CommandEntry("config", "Look at the configuration of a run."),
        "dataset": CommandEntry("dataset", "Look at datasets, and check their tasks."),
        "mine": CommandEntry(
            "mine",
            "Make a dataset of a repository's own merged changes: each with its tests, its solution and its controls.",
        ),
        "serve": CommandEntry("serve", "Serve a self-hosted model by vLLM."),
        "proxy": CommandEntry("proxy", "The LiteLLM proxy to models on Bedrock."),
        "rehearse": CommandEntry("rehearse", "Serve the rehearsal model on loopback until interrupted."),
    },
    "Run": {
        "e2e": CommandEntry("e2e", "Go the whole way: pre-flight, trials, judging, summary, results table."),
        "run": CommandEntry("run", "Run trials: an agent works through a dataset's tasks. Judges nothing."),
        "batch": CommandEntry("batch", "Run many models one after another."),
        "collect": CommandEntry("collect", "Collect a server's metrics."),
    },
    "Score": {
        "judge": CommandEntry("judge", "Score trials that have run; a trial that a judge failed on is tried again."),
        "summarize": CommandEntry(
            "summarize", "Write run-summary.json and run-summary.md, and print the results table."
        ),
    },
    "Look": {
        "answer": CommandEntry(
            "answer", "Say in a few sentences what a results tree answers, and what of the answer is not earned yet."
        ),
        "results": CommandEntry("results", "Show what the runs of a results tree come to, or ask it in SQL."),
        "report": CommandEntry(
            "report", "Write one page that answers which model to use for what, with charts; it needs no network."
        ),
        "cost": CommandEntry("cost", "Explain what trials cost, line by line; or give them other prices."),
        "stream": CommandEntry("stream", "Read an agent's stream: what it did, and what it comes to."),
    },
    "Decide": {
        "compare": CommandEntry(
            "compare",
            "Say what two runs allow to be claimed and what would settle the rest, and set them side by side.",
        ),
        "router": CommandEntry("router", "What the router knows of models."),
    },
    "Maintain": {
        "import": CommandEntry(
            "import_", "Make a results tree of what another harness measured, or somebody published."
        ),
        "clean": CommandEntry(
            "clean",
            "Give disk space back; results, and whatever is in use, stay. Without a choice: show what there is.",
        ),
        "schemas": CommandEntry("schemas", "Write the JSON Schema of every record.", hidden=True),
    },
}

ROUTER = {
    "Commands": {
        "build": CommandEntry(
            "router_build",
            "Work out models.json for the skill swe-router: each model's means, by tier, completion and frontier.",
        ),
        "inputs": CommandEntry(
            "router_inputs",
            "Have an agent judge what the router needs to know of each task: floor and tier, --repeats times.",
        ),
        "evaluate": CommandEntry(
            "router_evaluate",
            "Tell what following the router would have cost and scored, on tasks that every model has done.",
        ),
    }
}
