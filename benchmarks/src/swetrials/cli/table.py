"""The commands by what one wants. ``swetrials --help`` is written from this alone; a test holds it to the commands."""

from swetrials.cli.lean import Entry

SECTIONS = {
    "Set up": {
        "doctor": Entry(
            "doctor", "Check agent, provider and model; spends nothing. Exit code 3 when something is in the way."
        ),
        "matrix": Entry("matrix", "Show which agent works with which provider, and why not."),
        "agents": Entry("agents", "Install and list agent CLIs."),
        "config": Entry("config", "Look at the configuration of a run."),
        "dataset": Entry("dataset", "Look at datasets."),
        "serve": Entry("serve", "Serve a self-hosted model by vLLM."),
        "proxy": Entry("proxy", "The LiteLLM proxy to models on Bedrock."),
        "rehearse": Entry("rehearse", "Serve the rehearsal model on loopback until interrupted."),
    },
    "Run": {
        "e2e": Entry("e2e", "Go the whole way: pre-flight, trials, judging, summary, results table."),
        "run": Entry("run", "Run trials: an agent works through a dataset's tasks. Judges nothing."),
        "batch": Entry("batch", "Run many models one after another."),
        "collect": Entry("collect", "Collect a server's metrics."),
    },
    "Score": {
        "judge": Entry("judge", "Score trials that have run; a trial that a judge failed on is tried again."),
        "summarize": Entry("summarize", "Write run-summary.json and run-summary.md, and print the results table."),
    },
    "Look": {
        "answer": Entry(
            "answer", "Say in a few sentences what a results tree answers, and what of the answer is not earned yet."
        ),
        "results": Entry("results", "Show what the runs of a results tree come to, or ask it in SQL."),
        "report": Entry(
            "report", "Write one page that answers which model to use for what, with charts; it needs no network."
        ),
        "cost": Entry("cost", "Explain what trials cost, line by line; or give them other prices."),
        "stream": Entry("stream", "Read an agent's stream: what it did, and what it comes to."),
    },
    "Decide": {
        "compare": Entry(
            "compare",
            "Say what two runs allow to be claimed and what would settle the rest, and set them side by side.",
        ),
        "router": Entry("router", "What the router knows of models."),
    },
    "Maintain": {
        "import": Entry("import_", "Make a results tree of what another harness measured, or somebody published."),
        "clean": Entry(
            "clean",
            "Give disk space back; results, and whatever is in use, stay. Without a choice: show what there is.",
        ),
        "schemas": Entry("schemas", "Write the JSON Schema of every record.", hidden=True),
    },
}

ROUTER = {
    "Commands": {
        "build": Entry(
            "router_build",
            "Work out models.json for the skill swe-router: each model's means, by tier, completion and frontier.",
        ),
        "inputs": Entry(
            "router_inputs",
            "Have an agent judge what the router needs to know of each task: floor and tier, --repeats times.",
        ),
        "evaluate": Entry(
            "router_evaluate",
            "Tell what following the router would have cost and scored, on tasks that every model has done.",
        ),
    }
}
